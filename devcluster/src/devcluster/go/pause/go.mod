module berth.dev/devcluster/pause

go 1.26.0

tool berth.dev/devcluster/pause
