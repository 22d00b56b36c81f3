package import BrumeModel
internal import BrumeRecord

/// A container's schema file: `schemas/CONTAINER.schema` in the data folder.
///
/// ```
///  0  8  "BRUMESCH"
///  8  4  format version, 1 (little-endian, like all numbers here)
/// 12  4  length of the body
/// 16  4  CRC-32C of bytes 0 to 15 and the body
/// 20     body: an encoded brume.store.v1.SchemaFile
/// ```
///
/// It is replaced whole at each change: written under another name, synced, renamed, the folder synced. A change takes
/// effect when that is done. A container without a file has no schemas yet.
package enum SchemaFile {
    package static let folder = "schemas"
    static let suffix = ".schema"
    private static let magic = Array("BRUMESCH".utf8)
    private static let version: UInt32 = 1
    private static let headerByteCount = 20

    package static func path(of container: String, on disk: any Disk) -> String {
        folder + "/" + SnapshotFormat.fileName(container, on: disk) + suffix
    }

    /// Whether a schema's file may have the name, as far as that can be said without knowing its container.
    static func isFileName(_ name: String) -> Bool {
        name.hasSuffix(suffix) && SnapshotFormat.isEscaped(name)
    }

    /// The schemas of all containers of the folder that `disk` stands for.
    package static func readAll(from disk: any Disk) throws(StoreError) -> [ContainerSchemas] {
        let names: [String]
        do throws(DiskError) {
            names = try disk.list(folder)
        } catch {
            throw .disk(error)
        }
        var all: [ContainerSchemas] = []
        for name in names where name.hasSuffix(suffix) {
            if let schemas = try read(folder + "/" + name, from: disk) { all.append(schemas) }
        }
        return all
    }

    /// The schemas in a file; nil when there is none.
    package static func read(_ path: String, from disk: any Disk) throws(StoreError) -> ContainerSchemas? {
        let bytes: [UInt8]?
        do throws(DiskError) {
            bytes = try disk.readFile(path, limit: StoreLimits.schemaFileBytes)
        } catch {
            throw .disk(error)
        }
        guard let bytes else { return nil }
        let schemas = try decode(bytes, path: path)
        guard self.path(of: schemas.container, on: disk) == path else {
            throw .damaged(
                Damage(file: path, offset: UInt64(headerByteCount), problem: "the file is another container's"))
        }
        return schemas
    }

    /// Puts a container's file in place, whole and durable.
    package static func write(_ schemas: ContainerSchemas, to disk: any Disk) throws(DiskError) {
        try disk.makeDirectory(folder)
        // The folder may have been made just now.
        try disk.syncDirectory("")
        try disk.replaceFile(path(of: schemas.container, on: disk), in: folder, with: encode(schemas))
    }

    package static func encode(_ schemas: ContainerSchemas) -> [UInt8] {
        var body: [UInt8] = []
        StoreCoder.encodeSchemas(schemas, into: &body)
        var bytes = magic
        bytes.appendInteger(version)
        bytes.appendInteger(UInt32(body.count))
        var crc = CRC32C()
        crc.update(bytes)
        crc.update(body)
        bytes.appendInteger(crc.value)
        return bytes + body
    }

    package static func decode(_ bytes: [UInt8], path: String) throws(StoreError) -> ContainerSchemas {
        func damage(_ problem: String, at offset: Int) -> StoreError {
            .damaged(Damage(file: path, offset: UInt64(offset), problem: problem))
        }
        guard bytes.count >= headerByteCount, bytes.starts(with: magic) else {
            throw damage("this is no schema file", at: 0)
        }
        let body = Array(bytes[headerByteCount...])
        var crc = CRC32C()
        crc.update(Array(bytes[..<16]))
        crc.update(body)
        guard bytes.integer(at: 16, as: UInt32.self) == crc.value else {
            // A newer version may have another header.
            let version: UInt32 = bytes.integer(at: 8)
            if version > self.version, version < 1 << 16 { throw .unknownVersion(file: path, version: version) }
            throw damage("the checksum is wrong", at: 0)
        }
        let version: UInt32 = bytes.integer(at: 8)
        guard version == self.version else { throw .unknownVersion(file: path, version: version) }
        guard Int(bytes.integer(at: 12, as: UInt32.self)) == body.count else {
            throw damage("the length of the body is wrong", at: 12)
        }
        let result: Result<ContainerSchemas, StoreCodingError> = body.withUnsafeBytes { body in
            Result { () throws(StoreCodingError) in try StoreCoder.decodeSchemas(body) }
        }
        switch result {
        case .success(let schemas): return schemas
        case .failure(let error): throw damage(error.message, at: headerByteCount)
        }
    }
}
