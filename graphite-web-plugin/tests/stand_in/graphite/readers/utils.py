class BaseReader:
    pass
