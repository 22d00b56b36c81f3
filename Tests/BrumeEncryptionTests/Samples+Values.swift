@testable import BrumeEncryption

extension Samples {
    static let place = try! Place(
        container: "iCloud.example.notes", environment: "production", owner: "_ann", zone: "Notes",
        ringID: [UInt8](repeating: 7, count: 16))

    static func tree(_ root: String = "list", _ kind: Tree.Kind = .isPrivate, in place: Place = place) -> Tree {
        Tree(place: place, root: root, kind: kind)
    }

    static func cipher(_ tree: Tree = tree(), ringKey: UInt8 = 1, number: UInt32 = 1) -> TreeCipher {
        TreeCipher(tree: tree, ringKey: key(ringKey), number: number)
    }
}
