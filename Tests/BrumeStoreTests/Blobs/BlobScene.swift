import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeStore

/// The folder of a database's assets on a simulated disk.
struct BlobScene {
    let disk: SimulatedDisk
    let folder: BlobFolder

    init(on disk: SimulatedDisk = SimulatedDisk()) {
        self.disk = disk
        folder = BlobFolder(of: Desk.privateID, on: disk)
    }

    /// Bytes that differ from one `kind` to the next, and from each of their places to the next.
    static func content(_ byteCount: Int, _ kind: UInt8) -> [UInt8] {
        var word = UInt64(kind) &* 0x9E37_79B9_7F4A_7C15 &+ 1
        var content: [UInt8] = []
        content.reserveCapacity(byteCount + 8)
        while content.count < byteCount {
            word = word &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            content.appendInteger(word)
        }
        content.removeLast(content.count - byteCount)
        return content
    }

    static func name(of content: [UInt8], _ generation: UInt64) throws -> BlobName {
        BlobName(
            checksum: try #require(AssetChecksum(SimulatedDisk().sha256(content))), generation: generation)
    }

    static func identity(
        _ byteCount: Int, _ number: UInt8 = 1, user: String = Desk.owner
    ) throws -> BlobUpload.Identity {
        BlobUpload.Identity(
            id: try #require(UploadID([UInt8](repeating: number, count: 16))), user: user, zone: "Photos",
            byteCount: UInt64(byteCount))
    }

    func path(of name: BlobName) -> String {
        disk.paths.first { $0.hasSuffix("/" + name.fileName) } ?? "there is no \(name.fileName)"
    }

    /// The files of uploads.
    var incoming: [String] { disk.paths.filter { $0.contains("/incoming/") } }

    /// Opens an upload, and lets it catch up.
    func open(_ identity: BlobUpload.Identity) throws -> BlobUpload {
        let opening = try folder.open(identity)
        guard case .open(let upload) = opening else {
            throw TestFailure("an upload does not open: \(opening)")
        }
        while !upload.isCaughtUp { #expect(try upload.catchUp()) }
        return upload
    }

    /// Seals an upload that is whole, durably.
    @discardableResult
    func seal(_ upload: BlobUpload, generation: UInt64 = 1) throws -> BlobName {
        let name = BlobName(checksum: upload.finishChecksum(), generation: generation)
        try folder.seal(upload, as: name)
        try folder.syncNames(of: [name])
        return name
    }

    /// Stores a content, durably.
    func store(_ content: [UInt8], generation: UInt64 = 1) throws -> BlobName {
        let upload = try open(BlobScene.identity(content.count))
        try upload.append(content)
        return try seal(upload, generation: generation)
    }

    /// The content of a blob, checked.
    func content(of name: BlobName) throws -> [UInt8] {
        let reader = try #require(try folder.open(name), "there is no \(name.fileName)")
        defer { reader.close() }
        var content: [UInt8] = []
        try reader.forEachBlock { content += $0 }
        #expect(UInt64(content.count) == reader.byteCount)
        return content
    }
}

extension BlobFolder {
    /// Learns all that earlier processes kept of uploads.
    func recoverUploads() throws(DiskError) -> [KeptUpload] {
        var recovery = try makeRecovery()
        var uploads: [KeptUpload] = []
        while !recovery.isDone { uploads += try recovery.step() }
        return uploads
    }
}
