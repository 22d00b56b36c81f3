internal import BrumeSystem
internal import Foundation

/// A folder into which a command puts the files of assets.
struct AssetFolder {
    private let path: String

    /// Makes the folder when it is missing.
    init(_ path: String) throws(CommandError) {
        self.path = FolderCopier.path(path)
        do throws(SystemError) {
            try FileSystem.makeDirectoryTree(path)
        } catch {
            throw CommandError(.failed, "the folder \(path) for assets can't be made: \(error)")
        }
    }

    /// Copies the files of a record's assets here; the fields then say where they are.
    func take(_ fields: inout [(key: String, value: TypedValue)], of recordName: String) throws(CommandError) {
        fields: for index in fields.indices {
            let name = recordName + "." + fields[index].key
            switch fields[index].value {
            case .asset(let asset): fields[index].value = .asset(try taken(asset, name))
            case .list(let elements):
                var taken: [TypedValue] = []
                for (place, element) in elements.enumerated() {
                    guard case .asset(let asset) = element else { continue fields }
                    taken.append(.asset(try self.taken(asset, "\(name).\(place + 1)")))
                }
                fields[index].value = .list(taken)
            default: break
            }
        }
    }

    private func taken(_ asset: AssetValue, _ name: String) throws(CommandError) -> AssetValue {
        guard let source = asset.path else { return asset }
        let target = path + "/" + AssetFolder.fileName(name)
        if FileSystem.exists(target) {
            throw CommandError(.conflict, "\(target) exists", hint: "choose another folder: nothing is overwritten")
        }
        let partial = target + ".partial"
        do {
            try FileSystem.removeTree(partial)
            try FileManager.default.copyItem(atPath: source, toPath: partial)
            // The one that it is a copy of is read-only.
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: partial)
            try FileSystem.rename(partial, to: target)
        } catch {
            throw CommandError(.failed, "\(target) can't be written: \(error.localizedDescription)")
        }
        return AssetValue(checksum: asset.checksum, byteCount: asset.byteCount, path: target)
    }

    /// A name of a record, which any text may be, as that of a file: what is no letter, digit, dot, hyphen or
    /// underscore of ASCII is `%` and two hexadecimal digits.
    static func fileName(_ name: String) -> String {
        var text = ""
        for (place, byte) in name.utf8.enumerated() {
            let isPlain =
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                // Not at the front, where it would hide the file, or lead out of the folder.
                case UInt8(ascii: "."): place > 0
                default: false
                }
            let digits = String(byte, radix: 16, uppercase: true)
            text += isPlain ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + digits
        }
        return text
    }
}
