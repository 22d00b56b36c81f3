import Foundation

@testable import BrumeEncryption

/// One of the vectors of Tests/Fixtures/encryption-1.json.
struct Vector {
    static let kinds = [
        "pad", "hash", "derive", "seed", "sign", "box", "tree", "field", "stamp", "asset", "assetLarge", "assetList",
        "code",
        "paper", "anchor", "statements", "seedBox", "earlierSeed", "deviceName", "recovery", "safetyNumber",
        "enrolment",
        "enrolmentDone", "ring", "link", "joinProof", "invitation", "linkBox",
    ]

    let values: [String: Any]

    static func all() throws -> [Vector] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path
        let data = try Data(contentsOf: URL(fileURLWithPath: folder + "/../Fixtures/encryption-1.json"))
        let file = try JSONSerialization.jsonObject(with: data) as! [String: Any]
        return (file["vectors"] as! [[String: Any]]).map(Vector.init)
    }

    func text(_ name: String) -> String { values[name] as! String }
    func number(_ name: String) -> Int { (values[name] as! NSNumber).intValue }
    func bytes(_ name: String) -> [UInt8] { Self.bytes(text(name)) }
    func key(_ name: String) -> SecretKey { SecretKey(copying: bytes(name), byteCount: bytes(name).count) }
    func inner(_ name: String) -> Vector { Vector(values: values[name] as! [String: Any]) }
    func list(_ name: String) -> [[UInt8]] { (values[name] as! [String]).map(Self.bytes) }

    static func bytes(_ hex: String) -> [UInt8] {
        let digits = Array(hex.utf8)
        func value(_ digit: UInt8) -> UInt8 { digit < 58 ? digit - 48 : digit - 87 }
        return stride(from: 0, to: digits.count, by: 2).map { value(digits[$0]) << 4 | value(digits[$0 + 1]) }
    }

    static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    static func json(_ value: Any) throws -> String {
        let data = try JSONSerialization.data(withJSONObject: value, options: [.sortedKeys, .fragmentsAllowed])
        return String(decoding: data, as: UTF8.self)
    }

    static func hex(_ key: SecretKey) -> String { hex(key.copyBytes()) }

    // MARK: Parts

    /// A labelled message, of a label that nothing else has.
    var message: PartWriter {
        var message = PartWriter(capacity: 64)
        message.write(text: "brume/1/" + text("label"))
        for part in values["parts"] as? [[Any]] ?? [] {
            switch part[0] as! String {
            case "u8": message.write(u8: (part[1] as! NSNumber).uint8Value)
            case "u32": message.write(u32: (part[1] as! NSNumber).uint32Value)
            case "u64": message.write(u64: UInt64(part[1] as! String)!)
            case "text": message.write(text: part[1] as! String)
            default: message.write(bytes: Self.bytes(part[1] as! String))
            }
        }
        return message
    }

    var place: Place {
        get throws {
            let place = inner("place")
            return try Place(
                container: place.text("container"), environment: place.text("environment"), owner: place.text("owner"),
                zone: place.text("zone"), ringID: place.bytes("ring"))
        }
    }

    var tree: Tree {
        get throws {
            let tree = inner("tree")
            return Tree(
                place: try place, root: tree.text("root"), kind: Tree.Kind(rawValue: UInt8(tree.number("kind")))!)
        }
    }

    var record: RecordCipher {
        get throws {
            let number = UInt32(inner("tree").number("number"))
            return TreeCipher(tree: try tree, ringKey: key("ringKey"), number: number)
                .record(named: text("record"), type: text("type"))
        }
    }

    var scope: IdentityScope {
        IdentityScope(account: text("account"), container: text("container"), environment: text("environment"))
    }

    var ringName: RingName {
        get throws {
            let root = inner("ring").text("root")
            return try RingName(place: place, root: root.isEmpty ? nil : root)
        }
    }
}
