import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeStore

/// One fault at the first call to the disk, at the second, at the third …, until the script runs through.
@Suite("A fault at every call for assets")
struct BlobFaultTests {
    @Test(
        "a durable blob is there afterwards, whole; an upload goes on from where it was durable, or is gone",
        arguments: EveryCallTests.Fault.allCases)
    func everyCall(fault: EveryCallTests.Fault) throws {
        var call = 0
        var checked = 0
        while true {
            var isThrough = false
            for seed in 0..<(fault == .powerCutTearing || fault == .failureAndPowerCut ? 2 : 1) as Range<UInt64> {
                let script = try Script()
                fault.arm(script.disk, call: call)
                do {
                    try script.run()
                    isThrough = script.disk.calls <= call
                } catch let error as DiskError {
                    #expect(fault != .fullDisk, "call \(call): a full disk is not the end, but \(error)")
                }
                fault.strike(script.disk, seed: seed &* 7919 &+ UInt64(call))
                let comment: Comment = "call \(call), seed \(seed)"
                let notes = try script.check(comment)
                // What was found then is there after another power cut: somebody may have been told.
                script.disk.crash(seed: seed, .nothing)
                let kept = try script.check(comment)
                #expect(notes.allSatisfy { kept.contains($0) }, comment)
                try script.complete(comment)
                checked += script.checkedCount
            }
            if isThrough { break }
            call += 1
        }
        #expect(call > 40, "the script makes \(call) calls")
        #expect(checked > 100)
    }

    /// A small blob; a large upload that breaks and goes on in the next life; one that is given up; a blob that is
    /// removed; one that is left in the midst.
    private final class Script {
        let disk = SimulatedDisk()
        private static let small = BlobScene.content(3000, 1)
        private static let large = BlobScene.content(1_060_000, 2)
        private let small = Script.small
        private let large = Script.large
        private let smallIdentity: BlobUpload.Identity
        private let largeIdentity: BlobUpload.Identity
        /// Blobs that were said to be durable, and that nobody began to remove since.
        private var durable = Set<BlobName>()
        /// What an upload was told is durable of it.
        private var durableByteCount: UInt64 = 0
        private(set) var checkedCount = 0

        /// Where the blobs are.
        private let buckets: Set<UInt8>

        init() throws {
            buckets = Set(try [small, large].map { try BlobScene.name(of: $0, 1).bucket })
            smallIdentity = try BlobScene.identity(small.count, 1)
            largeIdentity = try BlobScene.identity(large.count, 2)
        }

        func run() throws {
            let first = BlobScene(on: disk)
            _ = try again { try first.folder.recoverUploads() }
            let blob = try store(small, smallIdentity, in: first)
            // Another upload had the id of the large one, and begins alike.
            let former = try again { try first.open(BlobScene.identity(2 * large.count, 2)) }
            try again { try former.append(Array(large[..<1_050_000])) }
            try again { try former.checkpoint() }
            former.close()
            let upload = try again { try first.open(largeIdentity) }
            try again { try upload.append(Array(large[..<1_050_000])) }
            try again { try upload.checkpoint() }
            durableByteCount = upload.durableByteCount
            try again { try upload.append(Array(large[1_050_000..<1_055_000])) }
            upload.close()
            let given = try again { try first.open(smallIdentity) }
            try again { try given.append([1, 2, 3]) }
            try given.discard()

            let second = BlobScene(on: disk)
            let kept = try again { try second.folder.recoverUploads() }
            #expect(kept == [.begun(largeIdentity, durableByteCount: durableByteCount)])
            let resumed = try again { try second.open(largeIdentity) }
            try again { try resumed.append(Array(large[Int(resumed.byteCount)...])) }
            try end(resumed, generation: 2, in: second)
            durable.remove(blob)
            if try !second.folder.remove([blob]).isEmpty {
                throw DiskError(call: "unlink", path: "", message: "the blob can't be removed")
            }
            let left = try again { try second.open(smallIdentity) }
            try again { try left.append(Array(small[..<1000])) }
            left.close()
        }

        /// What a full disk refused is done once more: there is room then.
        private func again<Value>(_ work: () throws -> Value) throws -> Value {
            do {
                return try work()
            } catch let error as DiskError where error.isFull {
                return try work()
            }
        }

        private func store(
            _ content: [UInt8], _ identity: BlobUpload.Identity, in scene: BlobScene
        ) throws -> BlobName {
            let upload = try again { try scene.open(identity) }
            try again { try upload.append(content) }
            return try end(upload, generation: 1, in: scene)
        }

        @discardableResult
        private func end(_ upload: BlobUpload, generation: UInt64, in scene: BlobScene) throws -> BlobName {
            let name = BlobName(checksum: upload.finishChecksum(), generation: generation)
            try again { try scene.folder.seal(upload, as: name) }
            try again { try scene.folder.syncNames(of: [name]) }
            durable.insert(name)
            return name
        }

        /// Looks at the folder as a start does, and returns what is kept of uploads.
        func check(_ comment: Comment) throws -> [BlobFolder.KeptUpload] {
            let scene = BlobScene(on: disk)
            let kept = try scene.folder.recoverUploads()
            var found = Set<BlobName>()
            for bucket in buckets { found.formUnion(try scene.folder.blobs(inBucket: bucket)) }
            #expect(disk.paths.count == found.count + scene.incoming.count, comment)
            #expect(found.isSuperset(of: durable), comment)
            for name in found {
                let content = try scene.content(of: name)
                #expect(content == small || content == large, comment)
                // Whoever was told that is told so again, after whatever power cut.
                if try scene.folder.isDurable(name) { durable.insert(name) } else { Issue.record(comment) }
                checkedCount += 1
            }
            var files = Set<String>()
            for upload in kept {
                switch upload {
                case .complete(let identity, let name):
                    #expect(identity == largeIdentity && found.contains(name), comment)
                    files.insert(identity.fileName(on: disk) + ".note")
                case .begun(let identity, let byteCount):
                    #expect(byteCount >= durableByteCount, comment)
                    #expect(identity == largeIdentity || durableByteCount == 0, comment)
                    for suffix in [".note", ".part"] { files.insert(identity.fileName(on: disk) + suffix) }
                }
            }
            if durableByteCount > 0 { #expect(!kept.isEmpty, comment) }
            #expect(Set(scene.incoming.map { String($0.split(separator: "/").last!) }) == files, comment)
            return kept
        }

        /// Goes on with the large upload where it is, or anew, to its end.
        func complete(_ comment: Comment) throws {
            let scene = BlobScene(on: disk)
            let opening = try scene.folder.open(largeIdentity)
            if case .complete(let name) = opening {
                #expect(try scene.content(of: name) == large, comment)
                return
            }
            guard case .open(let upload) = opening else { throw TestFailure("an upload does not open") }
            while !upload.isCaughtUp { #expect(try upload.catchUp(), comment) }
            try upload.append(Array(large[Int(upload.byteCount)...]))
            let name = try end(upload, generation: 3, in: scene)
            for name in durable { #expect(try scene.content(of: name).count > 0, comment) }
            #expect(try scene.content(of: name) == large, comment)
        }
    }
}
