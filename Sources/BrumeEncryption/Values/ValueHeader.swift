/// What stands readable in front of an encrypted value and of a stamp: which key opens it.
///
/// ```
/// 0   1  format
/// 1   1  suite
/// 2   16 the tree's id
/// 18  1  0 a private tree's, 1 a shared tree's
/// 19  4  number of the key in its ring, from 1, little-endian
/// ```
package struct ValueHeader: Hashable, Sendable {
    package static let byteCount = 23

    package let treeID: [UInt8]
    package let kind: Tree.Kind
    package let keyNumber: UInt32

    init(tree: Tree, keyNumber: UInt32) {
        precondition(keyNumber > 0, "a ring's keys are numbered from 1")
        treeID = tree.id
        kind = tree.kind
        self.keyNumber = keyNumber
    }

    /// Reads the header of a value or a stamp.
    ///
    /// - Throws: `newer`, and `damaged` for what no device writes.
    package init(of value: [UInt8]) throws(EncryptionRefusal) {
        try Suite.check(value)
        guard value.count >= Self.byteCount, let kind = Tree.Kind(rawValue: value[18]) else { throw .damaged }
        treeID = Array(value[2..<18])
        self.kind = kind
        keyNumber = value[19..<23].reversed().reduce(0) { $0 << 8 | UInt32($1) }
        guard keyNumber > 0 else { throw .damaged }
    }

    var bytes: [UInt8] {
        [Suite.format, Suite.suite] + treeID + [kind.rawValue]
            + withUnsafeBytes(of: keyNumber.littleEndian) { Array($0) }
    }
}
