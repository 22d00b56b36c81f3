import BrumeModel
import BrumeTestKit
@testable import BrumeRecord
import CBrumeProto
import Testing

@Suite("A share in its record's bytes")
struct ShareCoderTests {
    @Test("whatever happens to a share, it can be, shows nobody what is not theirs, and comes back from its bytes")
    func everything() throws {
        var (acceptances, publicUsers, administrators, requesters, quietChanges) = (0, 0, 0, 0, 0)
        for seed in 0..<60 as Range<UInt64> {
            var random = RandomShare(seed: seed)
            // What each participant is shown, and with which tag.
            var views: [String: (tag: String, seen: Share)] = [:]
            for step in 0..<200 {
                let here: Comment = "seed \(seed), step \(step)"
                if let user = random.step() {
                    acceptances += 1
                    #expect(random.share.participant(ofUser: user) != nil, here)
                }
                let share = random.share
                #expect(share.problem == nil, here)
                #expect(share.participant(ofUser: RandomShare.owner) == nil, here)
                for blocked in share.blockedUsers { #expect(share.permission(ofUser: blocked) == .none, here) }
                let bytes = ShareCoder.encode(share)
                #expect(try bytes.decoded(ShareCoder.decode) == share, here)
                let front = try bytes.decoded(ShareCoder.decodeFront)
                #expect(front.participants == share.participants.filter(\.isAccepted), here)
                #expect(front.requesters.isEmpty && front.blockedUsers.isEmpty && front.shown == share.shown, here)
                for user in (1...6).map(RandomShare.user) {
                    let viewer = front.viewer(user, owner: RandomShare.owner)
                    guard case .participant? = viewer else { continue }
                    #expect(front.seen(by: viewer!) == share.seen(by: viewer!), here)
                }
                try checkViews(of: share, here)
                let tag = share.shown?.changeTag ?? random.changeTag
                let participants = share.participants.filter { $0.isAccepted && $0.role != .administrator }.map(\.user)
                let known = views
                views = Dictionary(
                    uniqueKeysWithValues: participants.map { ($0, (tag, share.seen(by: .participant($0)))) })
                for (user, view) in views {
                    guard let before = known[user], before.tag == view.tag else { continue }
                    #expect(before.seen == view.seen, here)
                    if share.shown != nil { quietChanges += 1 }
                }
                publicUsers += share.participants.count { $0.role == .publicUser }
                administrators += share.participants.count { $0.role == .administrator && $0.isAccepted }
                requesters += share.requesters.count
            }
        }
        #expect(
            min(acceptances, publicUsers, administrators, requesters, quietChanges) > 100,
            "chance left out much: \(acceptances), \(publicUsers), \(administrators), \(requesters), \(quietChanges)")
    }

    private func checkViews(of share: Share, _ here: Comment) throws {
        for number in 1...6 {
            let user = RandomShare.user(number)
            guard let own = share.participant(ofUser: user), own.role != .administrator else { continue }
            let seen = share.seen(by: try #require(share.viewer(user, owner: RandomShare.owner)))
            #expect(seen.requesters.isEmpty && seen.blockedUsers.isEmpty, here)
            #expect(seen.participants.allSatisfy { $0.isAccepted && ($0.user == user || $0.invitees.isEmpty) }, here)
            #expect(seen.participants.contains { $0.user == user }, here)
        }
    }

    @Test("damaged bytes are refused, or read as another share that can be, and never trap")
    func damage() throws {
        let shares = (0..<20 as Range<UInt64>).map { seed in
            var random = RandomShare(seed: seed)
            for _ in 0..<60 { random.step() }
            return HostileBytes(ShareCoder.encode(random.share)) { bytes in
                let share = try ShareCoder.decode(bytes)
                if let problem = share.problem { Issue.record("it was read: \(problem)") }
                if let problem = try? ShareCoder.decodeFront(bytes).problem { Issue.record("in part: \(problem)") }
            }
        }
        for share in shares { try share.readCutAnywhere() }
        // Damage that leaves a share is mostly another bit of a secret.
        #expect((1..<2_000).contains(HostileBytes.readDamaged(shares, times: 20_000, seed: 7)))
    }

    @Test("a field that this version does not know is damage, wherever it stands")
    func unknownFields() throws {
        var random = RandomShare(seed: 3)
        while random.share.participants.isEmpty { random.step() }
        let bytes = ShareCoder.encode(random.share)
        #expect(throws: ServiceError.self) { try (bytes + [0x98, 0x06, 1]).decoded(ShareCoder.decode) }
        // A participant with field 99 and nothing else of its own.
        let participant: [UInt8] = [0x0A, 1, 0x71, 0x20, 3, 0x28, 2, 0x98, 0x06, 1]
        #expect(throws: ServiceError.self) {
            try (bytes + [0x22, UInt8(participant.count)] + participant).decoded(ShareCoder.decode)
        }
    }

    @Test("what a later version may write and this one can't know is damage, not something else")
    func laterVersions() throws {
        func refusal(_ change: (UnsafeMutablePointer<Brume__Store__V1__StoredShare>) -> Void) throws -> ErrorCode? {
            var random = RandomShare(seed: 3)
            while random.share.shown == nil
                || !random.share.participants.contains(where: { $0.isAccepted && !$0.invitees.isEmpty })
            {
                random.step()
            }
            let arena = MessageArena(bytesLimit: .max)
            let message = try #require(
                ShareCoder.encode(random.share).decoded {
                    arena.unpack(brume__store__v1__stored_share__unpack, $0)
                })
            change(message)
            let bytes = withExtendedLifetime(arena) { packed(message) }
            do throws(ServiceError) {
                _ = try bytes.decoded(ShareCoder.decode)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(try refusal { _ in } == nil)
        #expect(try refusal { $0.pointee.public_permission = 9 } == .internalError)
        #expect(try refusal { $0.pointee.participants[0]!.pointee.role = 1 } == .internalError)
        #expect(try refusal { $0.pointee.participants[0]!.pointee.role = 259 } == .internalError)
        #expect(try refusal { $0.pointee.participants[0]!.pointee.permission = 0 } == .internalError)
        #expect(try refusal { $0.pointee.secret.len = 19 } == .internalError)
        #expect(try refusal { $0.pointee.shown!.pointee.position = 0 } == .internalError)
        #expect(try refusal { $0.pointee.shown!.pointee.change_tag.len = 0 } == .internalError)
        #expect(try refusal { $0.pointee.shown!.pointee.modifier.len = 5 } == .internalError)
        #expect(try refusal { $0.pointee.participants[0]!.pointee.id.data[0] = 0xFF } == .internalError)
        #expect(
            try refusal { message in
                let participants = UnsafeBufferPointer(
                    start: message.pointee.participants, count: message.pointee.n_participants)
                participants.first { $0!.pointee.n_invitees > 0 }!!.pointee.invitees[0]!.pointee.kind_case =
                    BRUME__STORE__V1__STORED_INVITEE__KIND__NOT_SET
            } == .internalError)
    }
}
