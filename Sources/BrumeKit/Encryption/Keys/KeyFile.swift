internal import BrumeEncryption
internal import BrumeSystem

/// The files of a key folder, each of which holds one thing.
///
/// ```
/// 0   1   format, 1
/// 1   1   kind
/// 2   32  SHA-256 of kind, place and body
/// 34      body
///
/// device (1)      seed (32)
/// statements (2)  how the first is known (1); 0, or 1 and the keys that list this device (32, 32); count (4), each
///                 signed statement (counted)
/// pending (3)     flags (1): 1 a device's seed (32) follows, 2 a recovery code (16), 4 the hash of the statement whose
///                 chain is replaced (32); signed statement (counted)
/// code (4)        recovery code (16)
/// ```
/// Other kinds have many files, each in a folder of its kind: 5 a ring (``RingFile``), 6 what is known of another
/// account (``PersonFile``), 7 a share's root (``ShareRootFile``), 9 what moved in a zone (``MovesFile``), 10 a zone
/// that somebody else shares (``OthersZoneFile``). Of kind 11 are files beside the folders: ``TokenUserFile``.
///
/// `counted` is a length (4, little-endian) and that many bytes. A file that was put into another place's folder does
/// not have the place's checksum, and counts as damaged.
enum KeyFile: String, CaseIterable, Sendable {
    case device, statements, pending, code

    static let format: UInt8 = 1
    static let headBytes = 2 + SHA256.digestBytes

    enum Refusal: Error, Equatable {
        /// Another format than this version knows.
        case newer
        case damaged
    }

    var kind: UInt8 {
        switch self {
        case .device: 1
        case .statements: 2
        case .pending: 3
        case .code: 4
        }
    }

    /// The checksum of a file that is `head` and `body`.
    fileprivate static func checksum(of file: [UInt8], kind: UInt8, place: [UInt8]) -> [UInt8] {
        let stream = SHA256Stream()
        ([kind] + place).withUnsafeBytes { stream.update($0) }
        file.withUnsafeBytes { stream.update(UnsafeRawBufferPointer(rebasing: $0[Self.headBytes...])) }
        return stream.finish()
    }
}

/// Writes a file of a key folder. Whoever wrote a secret wipes it.
struct KeyFileWriter {
    private let kind: UInt8
    private(set) var bytes: [UInt8]

    /// - Parameter capacity: The bytes of the body at most, so that no copy of a secret is left behind by growing.
    init(kind: UInt8, capacity: Int) {
        self.kind = kind
        bytes = []
        bytes.reserveCapacity(KeyFile.headBytes + capacity)
        bytes += [KeyFile.format, kind]
        bytes.append(contentsOf: repeatElement(0, count: KeyFile.headBytes - 2))
    }

    mutating func write(u8 number: UInt8) { bytes.append(number) }

    mutating func write(u32 number: UInt32) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func write(u64 number: UInt64) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func write(_ part: [UInt8]) { bytes += part }

    mutating func write(counted part: [UInt8]) {
        write(u32: UInt32(part.count))
        bytes += part
    }

    mutating func write(_ secret: SecretKey) { secret.withBytes { bytes.append(contentsOf: $0) } }

    /// Puts the checksum in its place; nothing is written afterwards.
    mutating func finish(place: [UInt8]) {
        let checksum = KeyFile.checksum(of: bytes, kind: kind, place: place)
        bytes.replaceSubrange(2..<KeyFile.headBytes, with: checksum)
    }

    mutating func wipe() { Sodium.wipe(&bytes) }
}

/// Reads a file of a key folder. Nothing of it is believed before the checksum was compared.
struct KeyFileReader {
    private var bytes: [UInt8]
    private var offset = KeyFile.headBytes

    init(_ bytes: consuming [UInt8], kind: UInt8, place: [UInt8]) throws(KeyFile.Refusal) {
        self.bytes = bytes
        guard let format = self.bytes.first else { throw .damaged }
        guard format == KeyFile.format else { throw .newer }
        guard self.bytes.count > KeyFile.headBytes, self.bytes[1] == kind,
            KeyFile.checksum(of: self.bytes, kind: kind, place: place) == Array(self.bytes[2..<KeyFile.headBytes])
        else { throw .damaged }
    }

    mutating func readU8() throws(KeyFile.Refusal) -> UInt8 { try take(1)[offset - 1] }

    mutating func readU32() throws(KeyFile.Refusal) -> UInt32 {
        try take(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    mutating func readU64() throws(KeyFile.Refusal) -> UInt64 {
        try take(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func read(_ count: Int) throws(KeyFile.Refusal) -> [UInt8] { Array(try take(count)) }

    mutating func readCounted() throws(KeyFile.Refusal) -> [UInt8] {
        let count = Int(try readU32())
        return Array(try take(count))
    }

    /// A secret, of which no copy is left behind.
    mutating func readSecret(byteCount: Int = SecretKey.byteCount) throws(KeyFile.Refusal) -> SecretKey {
        var copy = try read(byteCount)
        defer { Sodium.wipe(&copy) }
        return SecretKey(copying: copy, byteCount: byteCount)
    }

    var isAtEnd: Bool { offset == bytes.count }

    /// Nothing may stand behind the last part.
    func end() throws(KeyFile.Refusal) {
        guard isAtEnd else { throw .damaged }
    }

    mutating func wipe() { Sodium.wipe(&bytes) }

    private mutating func take(_ count: Int) throws(KeyFile.Refusal) -> ArraySlice<UInt8> {
        guard count <= bytes.count - offset else { throw .damaged }
        defer { offset += count }
        return bytes[offset..<offset + count]
    }
}
