import BrumeKit
import BrumeTestKit
import Foundation
import Testing

@Suite("Shares' URLs and a server", .timeLimit(.minutes(1)))
struct ShareLinkEndToEndTests {
    /// On several loops most shares belong to another loop than the user who has the URL.
    private static let loopCounts = [1, 4]

    @Test("an invited user sees a share's title, its owner and themselves only", arguments: loopCounts)
    func invited(loopCount: Int) async throws {
        let desk = try await ShareLinkDesk(loopCount: loopCount)
        let (bob, carol, eve) = (try desk.user("bob"), try desk.user("carol"), try desk.user("eve"))
        let oneTime = CKShare.Participant.oneTimeURLParticipant()
        oneTime.permission = .readWrite
        let share = try await desk.share { share in
            share.addParticipant(try await desk.owner.shareParticipant(forEmailAddress: "bob@example.com"))
            share.addParticipant(
                try await desk.owner.shareParticipant(forUserRecordID: try await carol.userRecordID()))
            share.addParticipant(oneTime)
            share.participants[2].role = .administrator
        }
        let url = try #require(share.url)
        let oneTimeURL = try #require(share.oneTimeURL(for: oneTime.participantID))
        let ownerID = try await desk.owner.userRecordID()
        let zoneID = CKRecordZone.ID(zoneName: "Lists", ownerName: ownerID.recordName)
        for (user, url, number) in [(bob, url, 1), (carol, url, 2), (eve, oneTimeURL, 3)] {
            let metadata = try await user.shareMetadata(for: url)
            #expect(metadata.containerIdentifier == RunningServer.container)
            #expect(metadata.share[CKShare.SystemFieldKey.title] == "Groceries for us")
            #expect(metadata.share.allKeys() == [CKShare.SystemFieldKey.title], "the share's own field is not theirs")
            #expect(metadata.share.recordID == CKRecord.ID(recordName: share.recordID.recordName, zoneID: zoneID))
            #expect(metadata.hierarchicalRootRecordID == CKRecord.ID(recordName: "list", zoneID: zoneID))
            #expect(metadata.rootRecord == nil && metadata.ownerIdentity.userRecordID == ownerID)
            let me = try #require(metadata.share.currentUserParticipant)
            #expect(metadata.share.participants == [metadata.share.owner, me])
            #expect(me.participantID == share.participants[number].participantID)
            #expect(me.acceptanceStatus == .pending && metadata.participantStatus == .pending)
            #expect(metadata.participantRole == (number == 2 ? .administrator : .privateUser))
            #expect(metadata.participantPermission == (number == 3 ? .readWrite : .readOnly))
            #expect(me.userIdentity.lookupInfo?.emailAddress == (number == 1 ? "bob@example.com" : nil))
            #expect(metadata.share.url == url, "one who came by a one-time URL does not learn the share's own")
        }
    }

    @Test("shows a picture of up to 100 KiB before anybody accepts, and nothing else can be one")
    func thumbnail() async throws {
        let desk = try await ShareLinkDesk(loopCount: 1)
        let bob = try desk.user("bob")
        let picture = Data((0..<102_400).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let share = try await desk.share {
            $0.publicPermission = .readOnly
            $0[CKShare.SystemFieldKey.thumbnailImageData] = picture
        }
        let metadata = try await bob.shareMetadata(for: try #require(share.url))
        #expect(metadata.participantStatus == .pending)
        #expect(metadata.share[CKShare.SystemFieldKey.thumbnailImageData] as? Data == picture)

        let pictures = try PictureFolder()
        let others: [(CKRecord.FieldKey, any CKRecordValue, CKError.Code)] = [
            (CKShare.SystemFieldKey.thumbnailImageData, picture + [0], .limitExceeded),
            (CKShare.SystemFieldKey.thumbnailImageData, "a picture", .invalidArguments),
            (CKShare.SystemFieldKey.thumbnailImageData, try pictures.file("small", picture), .invalidArguments),
            (CKShare.SystemFieldKey.title, String(repeating: "x", count: 4_097), .limitExceeded),
            (CKShare.SystemFieldKey.title, picture, .invalidArguments),
            (CKShare.SystemFieldKey.shareType, 7, .invalidArguments),
        ]
        for (key, value, expected) in others {
            let changed = try await desk.fetched(share)
            changed[key] = value
            let results = try await desk.owner.privateCloudDatabase.modifyRecords(saving: [changed], deleting: [])
            #expect(await code { _ = try results.saveResults[share.recordID]?.get() } == expected, "\(key)")
        }
        let small = try await desk.fetched(share)
        small[CKShare.SystemFieldKey.thumbnailImageData] = nil
        try await desk.owner.privateCloudDatabase.save(small)
        #expect(
            try await bob.shareMetadata(for: try #require(share.url)).share
                .allKeys() == [CKShare.SystemFieldKey.title])
    }

    @Test("leads strangers nowhere, and says when an address may be missing", arguments: loopCounts)
    func strangers(loopCount: Int) async throws {
        let desk = try await ShareLinkDesk(loopCount: loopCount)
        let (bob, carol) = (try desk.user("bob"), try desk.user("carol"))
        let share = try await desk.share { share in
            share.addParticipant(
                try await desk.owner.shareParticipant(forUserRecordID: try await carol.userRecordID()))
        }
        let url = try #require(share.url)
        #expect(await code { try await bob.shareMetadata(for: url) } == .unknownItem)
        share.addParticipant(try await desk.owner.shareParticipant(forEmailAddress: "bob@work.example.com"))
        try await desk.owner.privateCloudDatabase.save(share)
        #expect(await code { try await bob.shareMetadata(for: url) } == .participantMayNeedVerification)
        #expect(await code { try await carol.shareMetadata(for: url) } == nil)
        let none = desk.server.device(token: nil)
        #expect(await code { try await none.shareMetadata(for: url) } == .notAuthenticated)
        let revoked = desk.server.device(token: "revoked")
        #expect(await code { try await revoked.shareMetadatas(for: [url]) } == .notAuthenticated)
        try await desk.owner.privateCloudDatabase.deleteRecord(withID: share.recordID)
        #expect(await code { try await carol.shareMetadata(for: url) } == .unknownItem)
        #expect(await code { try await desk.owner.shareMetadata(for: url) } == .unknownItem)
    }

    @Test("a public permission lets everybody in, who are no participants yet", arguments: loopCounts)
    func everybody(loopCount: Int) async throws {
        let desk = try await ShareLinkDesk(loopCount: loopCount)
        let bob = try desk.user("bob")
        let share = try await desk.share { $0.publicPermission = .readWrite }
        let metadata = try await bob.shareMetadata(for: try #require(share.url))
        #expect(metadata.participantRole == .publicUser && metadata.participantPermission == .readWrite)
        #expect(metadata.participantStatus == .pending && metadata.share.publicPermission == .readWrite)
        #expect(metadata.share.currentUserParticipant == nil && metadata.share.participants.count == 1)

        let zone = CKRecordZone(zoneName: "Whole")
        try await desk.owner.privateCloudDatabase.save(zone)
        let zoneShare = CKShare(recordZoneID: zone.zoneID)
        zoneShare.publicPermission = .readOnly
        try await desk.owner.privateCloudDatabase.save(zoneShare)
        let url = try #require(zoneShare.url)
        let whole = try #require(try await desk.fetch([url], by: bob, keys: nil)[url]?.get())
        #expect(whole.hierarchicalRootRecordID == nil && whole.rootRecord == nil)
        #expect(whole.share.recordID.recordName == CKRecordNameZoneWideShare)
        #expect(whole.participantPermission == .readOnly)
    }

    @Test("the shared record comes where it is asked for, with the fields that are wanted", arguments: loopCounts)
    func root(loopCount: Int) async throws {
        let desk = try await ShareLinkDesk(loopCount: loopCount)
        let bob = try desk.user("bob")
        let share = try await desk.share { $0.publicPermission = .readOnly }
        let url = try #require(share.url)
        let unknown = try #require(URL(string: "https://example.com/share/\(String(repeating: "A", count: 120))"))
        for (keys, shown) in [(["title"], ["title"]), (nil, ["note", "title"]), ([], [])] {
            let results = try await desk.fetch([url, unknown], by: bob, keys: keys)
            let root = try #require(try results[url]?.get().rootRecord)
            #expect(root.allKeys() == shown && root.recordType == "List" && root.parent == nil)
            #expect(root.recordID == (try results[url]?.get().hierarchicalRootRecordID))
            #expect(root.share?.recordID == (try results[url]?.get().share.recordID))
            #expect(await code { try results[unknown]?.get() } == .unknownItem)
        }
        let own = try #require(try await desk.fetch([url], by: desk.owner, keys: ["title"])[url]?.get())
        #expect(own.rootRecord?.recordID == desk.listID && own.rootRecord?.parent?.recordID.recordName == "folder")
    }

    @Test("any container, host and title will do, and the owner's own URL leads to all", arguments: loopCounts)
    func elsewhere(loopCount: Int) async throws {
        let desk = try await ShareLinkDesk(loopCount: loopCount)
        let bob = try desk.user("bob")
        let share = try await desk.share { share in
            share.addParticipant(try await desk.owner.shareParticipant(forEmailAddress: "bob@example.com"))
        }
        let url = try #require(share.url)
        func changed(_ change: (inout URLComponents) -> Void) throws -> URL {
            var components = try #require(URLComponents(url: url, resolvingAgainstBaseURL: false))
            change(&components)
            return try #require(components.url)
        }
        let variants = [
            url, try changed { $0.fragment = nil }, try changed { $0.fragment = "Other title" },
            try changed { ($0.host, $0.port) = ("brume.example.com", nil) }, try changed { $0.query = "from=mail" },
        ]
        let other = CKContainer(
            identifier: "iCloud.other", configuration: desk.server.clientConfiguration(token: try desk.token("bob")))
        let otherID = try await other.userRecordID()
        let bobID = try await bob.userRecordID()
        #expect(otherID != bobID)
        for container in [bob, other] {
            let results = try await container.shareMetadatas(for: variants)
            for variant in variants {
                let metadata = try #require(try results[variant]?.get())
                #expect(metadata.containerIdentifier == RunningServer.container)
                #expect(metadata.share.url == url, "the host is the one that the client connects to")
                let me = metadata.share.currentUserParticipant
                #expect(me?.userIdentity.lookupInfo?.emailAddress == "bob@example.com")
            }
        }
        for token in [try desk.token("ada"), try desk.server.createToken("ada")] {
            let own = CKContainer(
                identifier: "iCloud.other", configuration: desk.server.clientConfiguration(token: token))
            let metadata = try await own.shareMetadata(for: url)
            #expect(metadata.participantRole == .owner && metadata.participantStatus == .accepted)
            #expect(metadata.share.recordID == share.recordID && metadata.hierarchicalRootRecordID == desk.listID)
            #expect(metadata.share.participants.count == 2 && metadata.share["note"] == "mine")
            #expect(metadata.share.currentUserParticipant === metadata.share.owner)
            #expect(metadata.share.recordChangeTag == share.recordChangeTag)
        }
    }

    @Test("shares of several loops are asked for at once")
    func severalLoops() async throws {
        let desk = try await ShareLinkDesk(loopCount: 4)
        let bob = try desk.user("bob")
        var urls: [URL] = []
        for number in 0..<8 {
            let share = try await ShareLinkDesk(server: desk.server, owner: "owner\(number)").share {
                $0.publicPermission = .readOnly
            }
            urls.append(try #require(share.url))
        }
        let results = try await bob.shareMetadatas(for: urls)
        #expect(try urls.allSatisfy { try results[$0]?.get().participantRole == .publicUser })
        #expect(Set(try results.values.map { try $0.get().ownerIdentity.userRecordID }).count == urls.count)
        let requests = try await bob.requestShareAccess(for: urls)
        #expect(requests.count == urls.count && requests.values.allSatisfy { (try? $0.get()) != nil })
    }

    @Test("an account that tries too many URLs has to wait, and is told how long")
    func tooMany() async throws {
        let desk = try await ShareLinkDesk(loopCount: 2)
        let bob = try desk.user("bob")
        // One minute of the server's has more than its 60, wherever it begins.
        let urls = (0..<130).map { URL(string: "https://example.com/share/\($0)")! }
        let errors = try await bob.shareMetadatas(for: urls).values.compactMap { result -> CKError? in
            if case .failure(let error) = result { error as? CKError } else { nil }
        }
        #expect(errors.count == urls.count && errors.filter { $0.code == .unknownItem }.count >= 60)
        let limited = errors.filter { $0.code == .requestRateLimited }
        #expect(!limited.isEmpty && limited.allSatisfy { ($0.retryAfterSeconds ?? 0) > 0 })
    }
}
