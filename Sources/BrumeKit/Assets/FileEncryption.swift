internal import BrumeEncryption
internal import BrumeModel

/// A file on its way to the server, encrypted chunk by chunk.
///
/// What is told of the whole is taken in once, however many streams it takes: a chunk that the server wants again is
/// made again alone.
final class FileEncryption {
    let layout: AssetLayout
    private let file: AssetFile
    private let key: SecretKey
    private var encryptor: AssetEncryptor
    private var hash = AssetHash()
    private var whole: (checksum: AssetChecksum, secret: AssetSecret)?

    init(_ file: AssetFile, key: SecretKey, layout: AssetLayout) {
        (self.file, self.key, self.layout) = (file, key, layout)
        encryptor = AssetEncryptor(key: key, layout: layout)
    }

    /// How many chunks were taken in.
    var chunkCount: UInt64 { encryptor.chunkCount }

    /// Bytes of the file in all chunks before one.
    func fileOffset(ofChunk index: UInt64) -> Int {
        Int(clamping: min(index * UInt64(AssetLayout.pieceBytes), layout.length))
    }

    /// A chunk, once all before it were taken in.
    func chunk(_ index: UInt64) throws(AssetError) -> [UInt8] {
        let isNew = index == encryptor.chunkCount
        let bytes = try file.read(at: fileOffset(ofChunk: index), count: layout.fileByteCount(index))
        var chunk: [UInt8] = []
        chunk.reserveCapacity(AssetLayout.chunkBytes)
        bytes.withUnsafeBytes { encryptor.encrypt($0, chunk: index, appendingTo: &chunk) }
        if isNew { chunk.withUnsafeBytes { hash.update($0) } }
        return chunk
    }

    /// The checksum of all chunks, and what opens them, once all were taken in.
    func finish() -> (checksum: AssetChecksum, secret: AssetSecret) {
        if let whole { return whole }
        let whole = (checksum: hash.finish(), secret: encryptor.secret())
        self.whole = whole
        return whole
    }
}
