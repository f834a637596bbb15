"""Entry point of ``berth-operator`` and ``python -m scheduler_operator``."""

from scheduler_operator.app.process import main

if __name__ == "__main__":
    main()
