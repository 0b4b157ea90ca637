class Node:
    is_leaf = False

    def __init__(self, path):
        self.path = path


class BranchNode(Node):
    pass


class LeafNode(Node):
    is_leaf = True

    def __init__(self, path, reader):
        super().__init__(path)
        self.reader = reader
