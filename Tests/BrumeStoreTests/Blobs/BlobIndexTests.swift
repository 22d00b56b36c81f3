import BrumeModel
import BrumeRandom
import Testing

@testable import BrumeStore

@Suite("What is known of stored assets")
struct BlobIndexTests {
    private static let grace: UInt32 = 100
    private var index = BlobIndex(grace: grace)

    private static func name(_ content: UInt8, _ generation: UInt64 = 1) -> BlobName {
        BlobName(checksum: AssetChecksum([UInt8](repeating: content, count: 32))!, generation: generation)
    }

    @Test("a blob that no record names goes when its promise and the grace are over, and no sooner")
    mutating func pending() {
        let name = Self.name(1)
        index.add(name, byteCount: 7, promisedUntil: 300, now: 0)
        #expect(index.pendingByteCount == 7 && index.referencedByteCount == 0)
        for now in [0, 100, 299] as [UInt32] { #expect(index.takeUnneeded(now: now, limit: 9) == []) }
        #expect(index.takeUnneeded(now: 300, limit: 9) == [name])
        #expect(index.takeUnneeded(now: 300, limit: 9) == [], "once")
        #expect(index.pendingByteCount == 7, "it is on the disk until it is removed")
        index.removed(name)
        #expect(index.pendingByteCount == 0 && index.count == 0 && index.isUnknown(name))
    }

    @Test("a blob that records name stays, however often they are changed, and goes a grace after the last of them")
    mutating func references() {
        let name = Self.name(1)
        index.add(name, byteCount: 7, promisedUntil: 10, now: 0)
        index.reference(name, byteCount: 7)
        index.reference(name, byteCount: 7)
        #expect(index.referencedByteCount == 7 && index.pendingByteCount == 0 && index.referenceCount(of: name) == 2)
        index.release(name, now: 50)
        #expect(index.takeUnneeded(now: 1000, limit: 9) == [])
        index.release(name, now: 1000)
        #expect(index.referencedByteCount == 0, "deleting makes room at once")
        #expect(index.takeUnneeded(now: 1099, limit: 9) == [])
        index.reference(name, byteCount: 7)
        #expect(index.takeUnneeded(now: 1100, limit: 9) == [])
        index.release(name, now: 1101)
        #expect(index.takeUnneeded(now: 1200, limit: 9) == [])
        #expect(index.takeUnneeded(now: 1201, limit: 9) == [name])
    }

    @Test("what records named once counts as pending when it is uploaded again, and no sooner")
    mutating func uploadedAgain() {
        let name = Self.name(1)
        index.reference(name, byteCount: 7)
        index.add(name, byteCount: 7, promisedUntil: 10, now: 0)
        #expect(index.pendingByteCount == 0 && index.referencedByteCount == 7, "it counts once")
        index.release(name, now: 1)
        #expect(index.pendingByteCount == 0 && index.referencedByteCount == 0)
        index.add(name, byteCount: 7, promisedUntil: 10, now: 2)
        index.add(name, byteCount: 7, promisedUntil: 10, now: 2)
        #expect(index.pendingByteCount == 7)
        index.reference(name, byteCount: 7)
        #expect(index.pendingByteCount == 0 && index.referencedByteCount == 7)
    }

    @Test("a save or a transfer keeps a blob, and none can once it is about to go")
    mutating func pins() {
        let name = Self.name(1)
        #expect(index.pin(name) == false)
        #expect(index.promise(name, until: 9) == false)
        index.found(name, byteCount: 7, now: 0)
        #expect(index.copy(of: name.checksum) == nil, "what was merely found may be gone by now")
        #expect(index.pin(name) == true)
        index.reference(name, byteCount: 7)
        #expect(index.copy(of: name.checksum) == name)
        index.release(name, now: 0)
        #expect(index.takeUnneeded(now: 500, limit: 9) == [])
        index.unpin(name, now: 500)
        #expect(index.takeUnneeded(now: 599, limit: 9) == [])
        #expect(index.promise(name, until: 700) == true)
        #expect(index.takeUnneeded(now: 600, limit: 9) == [])
        #expect(index.takeUnneeded(now: 700, limit: 9) == [name])
        #expect(index.pin(name) == false)
        #expect(index.promise(name, until: 9000) == false)
        #expect(index.copy(of: name.checksum) == nil, "an upload must not become a copy that goes")
    }

    @Test("a second copy of a content that goes is not hit by its going")
    mutating func copies() {
        let (first, second) = (Self.name(1, 1), Self.name(1, 2))
        index.found(first, byteCount: 7, now: 0)
        #expect(index.takeUnneeded(now: 100, limit: 9) == [first])
        index.add(second, byteCount: 7, promisedUntil: 900, now: 100)
        #expect(index.copy(of: first.checksum) == second && index.count == 2)
        #expect(index.pin(second) == true)
        #expect(index.pin(first) == false)
        index.reference(second, byteCount: 7)
        index.removed(first)
        #expect(index.count == 1 && index.isUnknown(first) && index.copy(of: first.checksum) == second)
        index.unpin(second, now: 5000)
        #expect(index.takeUnneeded(now: 9000, limit: 9) == [])
    }

    @Test("a copy that can't be read is none for further uploads, and stays for the records that name it")
    mutating func damage() {
        let (first, second) = (Self.name(1, 1), Self.name(1, 2))
        index.reference(first, byteCount: 7)
        index.markDamaged(first)
        index.markDamaged(second)
        #expect(index.copy(of: first.checksum) == nil && index.isUnknown(second))
        index.add(second, byteCount: 7, promisedUntil: 0, now: 0)
        #expect(index.copy(of: first.checksum) == second)
        #expect(index.takeUnneeded(now: 100, limit: 9) == [second])
    }

    @Test("a blob that was found before it was known to be stored is the one that was stored")
    mutating func foundFirst() {
        let name = Self.name(1)
        index.found(name, byteCount: 40, now: 0)
        index.add(name, byteCount: 7, promisedUntil: 500, now: 0)
        #expect(index.count == 1 && index.copy(of: name.checksum) == name)
        #expect(index.pendingByteCount == 40, "the size that it was found with")
        #expect(index.takeUnneeded(now: 499, limit: 9) == [])
        index.reference(name, byteCount: 7)
        index.add(name, byteCount: 7, promisedUntil: 500, now: 100)
        #expect(index.count == 1 && index.pendingByteCount == 0)
    }

    @Test("neither a grace without end nor a size that nobody can have stops the server")
    mutating func extremes() {
        index = BlobIndex(grace: .max)
        index.found(Self.name(1), byteCount: .max, now: 5)
        index.reference(Self.name(2), byteCount: .max)
        index.release(Self.name(2), now: .max)
        #expect(index.takeUnneeded(now: .max - 1, limit: 9) == [])
    }

    @Test("no grace begins anew because the database leaves the memory and comes back, and no promise is lost")
    mutating func comingBack() {
        let (old, promised, named) = (Self.name(1), Self.name(2), Self.name(3))
        index.found(old, byteCount: 7, now: 10)
        index.add(promised, byteCount: 5, promisedUntil: 400, now: 20)
        index.reference(named, byteCount: 3)
        let kept = index.unneededBlobs
        #expect(Set(kept.map(\.name)) == [old, promised])
        #expect(Set(kept.map { $0.due(grace: Self.grace) }) == [110, 400])
        index = BlobIndex(grace: Self.grace)
        index.reference(named, byteCount: 3)
        index.beginGraces(now: 90)
        index.restore(kept)
        #expect(index.storedByteCount == 15 && index.unneededByteCount == 12 && index.pendingByteCount == 0)
        #expect(index.takeUnneeded(now: 109, limit: 9) == [])
        #expect(index.takeUnneeded(now: 110, limit: 9) == [old])
        #expect(index.takeUnneeded(now: 399, limit: 9) == [])
        #expect(index.takeUnneeded(now: 400, limit: 9) == [promised])
    }

    @Test("a blob that could not be read is damaged still when the database comes back")
    mutating func damagedBefore() {
        let name = Self.name(1)
        index.reference(name, byteCount: 7)
        index.markDamaged(name)
        index.release(name, now: 0)
        let kept = index.unneededBlobs
        index = BlobIndex(grace: Self.grace)
        index.restore(kept)
        #expect(!index.isUnknown(name) && !index.mayBeNamed(name))
    }

    @Test("blobs whose names were forgotten count, and go when the last of them may, once their files are found")
    mutating func nameless() {
        let (first, second, new) = (Self.name(1), Self.name(2), Self.name(3))
        index.found(first, byteCount: 7, now: 10)
        index.add(second, byteCount: 5, promisedUntil: 30, now: 20)
        let sum = index.unneededSum
        #expect(sum == UnneededSum(byteCount: 12, since: 20, promisedUntil: 30))
        index = BlobIndex(grace: Self.grace)
        #expect(index.unneededSum == nil)
        index.forgot(sum!)
        #expect(index.unneededByteCount == 12 && index.hasNameless && index.unneededSum == sum)
        index.foundFormer(first, byteCount: 7, now: 50)
        #expect(index.unneededByteCount == 12 && index.unneededSum == sum, "it counts once")
        index.found(new, byteCount: 1, now: 50)
        index.foundFormer(second, byteCount: 5, now: 50)
        index.foundAll()
        #expect(!index.hasNameless && index.unneededByteCount == 13)
        #expect(index.takeUnneeded(now: 119, limit: 9) == [])
        #expect(Set(index.takeUnneeded(now: 120, limit: 9)) == [first, second])
        #expect(index.takeUnneeded(now: 150, limit: 9) == [new])
    }

    @Test("what is needed again takes no room among what is not")
    mutating func stale() {
        for number in 0..<10_000 as Range<UInt64> {
            let name = Self.name(1, number)
            index.add(name, byteCount: 1, promisedUntil: 0, now: 0)
            index.reference(name, byteCount: 1)
            #expect(index.unneededCount == 0)
        }
        #expect(index.queuedCount <= 66)
        index.release(Self.name(1, 5), now: 1)
        #expect(index.unneededCount == 1 && index.unneededBlobs.map(\.name) == [Self.name(1, 5)])
    }

    @Test("what a loaded journal has released begins its grace when the database is loaded")
    mutating func released() {
        let name = Self.name(1)
        index.reference(name, byteCount: 7)
        index.release(name, now: 0)
        index.beginGraces(now: 5_000)
        #expect(index.takeUnneeded(now: 5_099, limit: 9) == [])
        #expect(index.takeUnneeded(now: 5_100, limit: 9) == [name])
    }

    @Test("any number of copies of one content cost no more than as many contents")
    mutating func manyCopies() {
        let content = Self.name(1).checksum
        let names = (UInt64(1)...100_000).map { BlobName(checksum: content, generation: $0) }
        for name in names { index.add(name, byteCount: 1, promisedUntil: 0, now: 0) }
        for name in names { index.reference(name, byteCount: 1) }
        #expect(index.count == 100_000 && index.pendingByteCount == 0 && index.copy(of: content) != nil)
        for name in names { index.release(name, now: 0) }
        var taken: [BlobName] = []
        while true {
            let some = index.takeUnneeded(now: 1_000, limit: 4_096)
            if some.isEmpty { break }
            for name in some { index.removed(name) }
            taken += some
        }
        #expect(Set(taken) == Set(names) && index.count == 0 && index.storedByteCount == 0)
        #expect(index.copy(of: content) == nil)
    }

    @Test("one look at it costs no more than it may")
    mutating func limits() {
        for content in UInt8.min...UInt8.max { index.found(Self.name(content), byteCount: 1, now: 0) }
        var taken = Set<BlobName>()
        for _ in 0..<8 {
            let some = index.takeUnneeded(now: 100, limit: 32)
            #expect(some.count == 32)
            taken.formUnion(some)
        }
        #expect(taken.count == 256)
    }

    @Test("is what the plainest reading of the rules says, whatever happens", arguments: 0..<50 as Range<UInt64>)
    func random(seed: UInt64) {
        var run = Run(seed: seed)
        for step in 0..<2000 {
            run.step()
            run.check("seed \(seed), step \(step)")
        }
        #expect(run.goneCount > 9 && run.refusedCount > 0, "seed \(seed)")
    }

    /// Blobs by the plainest reading of the rules.
    private struct Run {
        private struct Blob {
            var byteCount: UInt64
            var references = 0
            var pins = 0
            var promisedUntil: UInt32 = 0
            var lastNeeded: UInt32
            var isPending = false
            var isFresh = false
            var isDamaged = false
            var isDeleting = false

            var isInNobodysWay: Bool { references == 0 && pins == 0 && !isDeleting }

            func isUnneeded(_ now: UInt32) -> Bool {
                references == 0 && pins == 0 && promisedUntil <= now && lastNeeded + BlobIndexTests.grace <= now
            }
        }

        private var generator: SeededGenerator
        private var index = BlobIndex(grace: BlobIndexTests.grace)
        private var blobs: [BlobName: Blob] = [:]
        private var now: UInt32 = 0
        private var nextGeneration: UInt64 = 1
        private(set) var goneCount = 0
        private(set) var refusedCount = 0

        /// The copies of each content, in the order in which they became known.
        private var copies: [AssetChecksum: [BlobName]] = [:]

        init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

        private var names: [BlobName] { blobs.keys.sorted { $0.generation < $1.generation } }

        mutating func step() {
            now += UInt32.random(in: 0...9, using: &generator)
            let name = names.randomElement(using: &generator)
            switch Int.random(in: 0..<16, using: &generator) {
            case 0, 1:
                let new = BlobIndexTests.name(UInt8.random(in: 0..<8, using: &generator), nextGeneration)
                nextGeneration += 1
                become(new)
            case 13 where generator.oneIn(4):
                guard let name, !blobs[name]!.isDeleting else { return }
                become(name)
            case 14 where generator.oneIn(4):
                guard let name else { return }
                index.markDamaged(name)
                blobs[name]!.isDamaged = true
            case 2..<5:
                guard let name else { return }
                let isKept = index.pin(name)
                refusedCount += isKept ? 0 : 1
                #expect(isKept == !blobs[name]!.isDeleting)
                if isKept { blobs[name]!.pins += 1 }
            case 5..<8:
                guard let name, blobs[name]!.pins > 0 else { return }
                if Bool.random(using: &generator) {
                    index.reference(name, byteCount: blobs[name]!.byteCount)
                    blobs[name]!.references += 1
                    blobs[name]!.isPending = false
                }
                index.unpin(name, now: now)
                blobs[name]!.pins -= 1
                blobs[name]!.lastNeeded = now
            case 8..<11:
                guard let name, blobs[name]!.references > 0 else { return }
                index.release(name, now: now)
                blobs[name]!.references -= 1
                blobs[name]!.lastNeeded = now
            case 11:
                guard let name else { return }
                let until = now + UInt32.random(in: 0...150, using: &generator)
                if index.promise(name, until: until) {
                    blobs[name]!.promisedUntil = max(blobs[name]!.promisedUntil, until)
                }
            case 12 where generator.oneIn(9):
                index.beginGraces(now: now)
                for name in names where blobs[name]!.isInNobodysWay { blobs[name]!.lastNeeded = now }
            case 12 where generator.oneIn(9): comeBack()
            default: sweep()
            }
        }

        /// The database leaves the memory, unless something of it is being removed or used, and is loaded again: what
        /// records name is counted anew, and of the rest only what nothing needs is known.
        private mutating func comeBack() {
            if blobs.values.contains(where: { $0.isDeleting || $0.pins > 0 }) { return }
            let unneeded = index.unneededBlobs
            #expect(unneeded.count == index.unneededCount)
            index = BlobIndex(grace: BlobIndexTests.grace)
            now += UInt32.random(in: 0...50, using: &generator)
            for name in names {
                for _ in 0..<blobs[name]!.references { index.reference(name, byteCount: blobs[name]!.byteCount) }
                blobs[name]!.isPending = false
                blobs[name]!.isFresh = false
                if blobs[name]!.references > 0 { (blobs[name]!.promisedUntil, blobs[name]!.isDamaged) = (0, false) }
            }
            index.beginGraces(now: now)
            index.restore(unneeded.sorted { $0.name.generation < $1.name.generation })
            // Those that records name become known first.
            let named = names.filter { blobs[$0]!.references > 0 }
            copies = [:]
            for name in named + names where copies[name.checksum]?.contains(name) != true {
                copies[name.checksum, default: []].append(name)
            }
        }

        /// A blob becomes known, or is heard of again: it was stored, found, or a loaded record names it.
        private mutating func become(_ name: BlobName) {
            let isNew = blobs[name] == nil
            var blob = blobs[name] ?? Blob(byteCount: UInt64.random(in: 0...50, using: &generator), lastNeeded: now)
            if isNew { copies[name.checksum, default: []].append(name) }
            switch Int.random(in: 0..<3, using: &generator) {
            case 0:
                let until = now + UInt32.random(in: 0...250, using: &generator)
                index.add(name, byteCount: blob.byteCount, promisedUntil: until, now: now)
                if blob.references == 0 { blob.isPending = true }
                blob.isFresh = true
                blob.promisedUntil = max(blob.promisedUntil, until)
                blob.lastNeeded = now
            case 1: index.found(name, byteCount: blob.byteCount, now: now)
            default:
                index.reference(name, byteCount: blob.byteCount)
                blob.references += 1
                blob.isPending = false
            }
            blobs[name] = blob
        }

        private func copy(of checksum: AssetChecksum) -> BlobName? {
            let good = (copies[checksum] ?? []).filter { name in
                let blob = blobs[name]!
                return !blob.isDeleting && !blob.isDamaged && (blob.isFresh || blob.references > 0)
            }
            return good.first { blobs[$0]!.references > 0 } ?? good.last
        }

        private mutating func sweep() {
            let expected = Set(blobs.filter { !$0.value.isDeleting && $0.value.isUnneeded(now) }.keys)
            // One look may be used up by a blob that is needed by now.
            let isShort = generator.oneIn(4)
            let taken = Set(index.takeUnneeded(now: now, limit: isShort ? 1 : 1000))
            #expect(taken.isSubset(of: expected))
            if !isShort { #expect(taken == expected) }
            for name in taken { blobs[name]!.isDeleting = true }
            for name in names where blobs[name]!.isDeleting && generator.oneIn(3) {
                index.removed(name)
                blobs[name] = nil
                copies[name.checksum]!.removeAll { $0 == name }
                goneCount += 1
            }
        }

        func check(_ comment: Comment) {
            #expect(index.count == blobs.count, comment)
            let referenced = blobs.values.filter { $0.references > 0 }.reduce(0) { $0 + $1.byteCount }
            let pending = blobs.values.filter(\.isPending).reduce(0) { $0 + $1.byteCount }
            #expect(index.referencedCount == blobs.values.count { $0.references > 0 }, comment)
            #expect(index.recountedPendingByteCount == pending, comment)
            #expect(index.referencedByteCount == referenced && index.pendingByteCount == pending, comment)
            #expect(index.storedByteCount == blobs.values.reduce(0) { $0 + $1.byteCount }, comment)
            for (name, blob) in blobs { #expect(index.referenceCount(of: name) == blob.references, comment) }
            for checksum in copies.keys { #expect(index.copy(of: checksum) == copy(of: checksum), comment) }
        }
    }
}
