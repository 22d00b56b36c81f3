import BrumeModel
@testable import BrumeStore
import BrumeTestKit
import Testing

@testable import BrumeService

@Suite("What nothing needs of databases that left the memory")
struct DepartedAssetsTests {
    private static func id(_ owner: String) -> DatabaseID {
        DatabaseID(container: "iCloud.test", environment: .development, scope: .private, owner: owner)
    }

    private static func index(_ times: [UInt32], grace: UInt32 = 100) -> BlobIndex {
        var index = BlobIndex(grace: grace)
        for (number, time) in times.enumerated() {
            let checksum = AssetChecksum([UInt8](repeating: UInt8(number), count: 32))!
            index.found(BlobName(checksum: checksum, generation: 1), byteCount: 1, now: time)
        }
        return index
    }

    private static func due(_ departed: inout DepartedAssets, at time: UInt32) -> [String] {
        var due: [String] = []
        while let (id, isLookedThrough) = departed.takeDue(at: time) {
            due.append(id.owner + (isLookedThrough ? " looked through" : ""))
        }
        return due
    }

    @Test(
        "is due when some of it may go, what goes at about the same time together, and remembered until it comes back")
    func due() throws {
        var departed = DepartedAssets(limit: 100)
        departed.leave(Self.id("ada"), Self.index([50, 20, 70]))
        departed.leave(Self.id("bob"), Self.index([10]))
        departed.leave(Self.id("carol"), Self.index([20, 22]))
        departed.leave(Self.id("dora"), Self.index([]))
        #expect(departed.blobCount == 6 && Self.due(&departed, at: 109) == [])
        #expect(Self.due(&departed, at: 110) == ["bob"])
        #expect(Self.due(&departed, at: 110) == [], "once")
        departed.putOff(Self.id("bob"), until: 130)
        departed.putOff(Self.id("eve"), until: 130)
        #expect(Self.due(&departed, at: 121) == [])
        #expect(Self.due(&departed, at: 124) == ["carol", "ada"])
        #expect(Self.due(&departed, at: 130) == ["bob"])
        guard case .each(let blobs)? = departed.comeBack(Self.id("ada")) else { throw TestFailure("no names") }
        #expect(blobs.map(\.since).sorted() == [20, 50, 70])
        #expect(departed.comeBack(Self.id("ada")) == nil && departed.comeBack(Self.id("dora")) == nil)
        #expect(departed.blobCount == 3)
        departed.leave(Self.id("ada"), Self.index([90]))
        #expect(Self.due(&departed, at: 189) == [])
        #expect(Self.due(&departed, at: 190) == ["ada"])
    }

    @Test("is a sum where there is no room for names, of the databases with the most of them")
    func room() throws {
        var departed = DepartedAssets(limit: 5, databaseLimit: 3)
        departed.leave(Self.id("ada"), Self.index([1, 2, 3]))
        departed.leave(Self.id("bob"), Self.index([1, 9, 3, 4]))
        departed.leave(Self.id("carol"), Self.index([1, 1]))
        departed.leave(Self.id("dora"), Self.index([1]))
        #expect(departed.blobCount == 5, "these are as many databases as there may be")
        #expect(Self.due(&departed, at: 108) == ["carol", "ada"])
        #expect(Self.due(&departed, at: 109) == ["bob looked through"])
        #expect(departed.comeBack(Self.id("bob")) == .sum(UnneededSum(byteCount: 4, since: 9, promisedUntil: 0)))
        // Ada has more than Dora, and makes room.
        departed.leave(Self.id("dora"), Self.index([5]))
        #expect(departed.comeBack(Self.id("ada")) == .sum(UnneededSum(byteCount: 3, since: 3, promisedUntil: 0)))
        #expect(departed.blobCount == 3 && Self.due(&departed, at: 105) == ["dora"])
    }

    @Test("is a sum together with what was forgotten before, until its files have been found")
    func forgotten() throws {
        var departed = DepartedAssets(limit: 5)
        var index = Self.index([20])
        index.forgot(UnneededSum(byteCount: 3, since: 9, promisedUntil: 0))
        departed.leave(Self.id("bob"), index)
        #expect(departed.blobCount == 0, "the names that are known are of no use without the others")
        #expect(departed.comeBack(Self.id("bob")) == .sum(UnneededSum(byteCount: 4, since: 20, promisedUntil: 0)))
    }

    @Test("is visited again no sooner than it was put off to, though it has left with what was due before")
    func putOff() {
        var departed = DepartedAssets(limit: 0)
        departed.leave(Self.id("ada"), Self.index([1, 2]))
        #expect(Self.due(&departed, at: 102) == ["ada looked through"])
        var index = BlobIndex(grace: 100)
        guard case .sum(let sum)? = departed.comeBack(Self.id("ada")) else { return }
        index.forgot(sum)
        departed.leave(Self.id("ada"), index)
        departed.putOff(Self.id("ada"), until: 160)
        #expect(Self.due(&departed, at: 159) == [])
        #expect(Self.due(&departed, at: 160) == ["ada looked through"])
    }

    @Test("costs no memory for each time that a database left")
    func comingAndGoing() {
        var departed = DepartedAssets(limit: 100)
        for _ in 0..<10_000 {
            departed.leave(Self.id("ada"), Self.index([1]))
            #expect(departed.comeBack(Self.id("ada")) != nil)
        }
        #expect(departed.placeCount <= 70 && departed.blobCount == 0)
    }
}
