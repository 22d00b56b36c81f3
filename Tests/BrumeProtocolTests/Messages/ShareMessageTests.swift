import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

/// What a save says of a share beside its record's fields.
@Suite("A save of a share")
struct ShareMessageTests {
    private let coder = MessageCoder()

    private static let user = "_" + String(repeating: "a", count: 32)

    private static var everything: ShareSave {
        var edit = ShareEdit()
        edit.publicPermission = .readOnly
        edit.allowsAccessRequests = true
        edit.removals = ["gone", "gone too"]
        edit.puts = [
            .init(
                id: "p1", invitee: .handle(.email("alice@example.com")), role: .administrator, permission: .readWrite),
            .init(id: "p2", invitee: .handle(.phone("+49301234567")), permission: .readOnly),
            .init(id: "p3", invitee: .user(user), permission: .readOnly),
            .init(id: "p4", invitee: .oneTime, permission: .readWrite),
            .init(id: "p5", invitee: nil, role: .publicUser, permission: Share.Permission.none),
        ]
        (edit.denials, edit.blocks, edit.unblocks) = ([user], [user], [user])
        return ShareSave(root: "list", edit: edit)
    }

    private static func request(_ share: ShareSave?, type: String = Names.shareType) -> ModifyRecordsRequest<
        DecodedFields
    > {
        var zone = ZoneModification<DecodedFields>(
            zone: MessageSamples.zone,
            saves: [
                RecordSave(name: "share", type: type, fields: ["cloudkit.title": .string("Groceries")]),
                RecordSave(name: "list", type: "List", fields: [:]),
            ])
        zone.shares["share"] = share
        return ModifyRecordsRequest(database: .private, zones: [zone])
    }

    private func read(
        _ request: ModifyRecordsRequest<DecodedFields>
    ) throws -> ZoneModification<CheckedFields> {
        try coder.encodeModifyRecordsRequest(request).decoded(coder.decodeModifyRecordsRequest).zones[0]
    }

    @Test("arrives as it was sent")
    func roundTrip() throws {
        for share in [Self.everything, ShareSave(), ShareSave(root: "list")] {
            let zone = try read(Self.request(share))
            #expect(zone.shares == ["share": share] && !zone.isKnownDistinct)
            #expect(zone.saves[0].type == Names.shareType && zone.saves[0].fields.problem == nil)
            #expect(zone.saves[0].fields.puts.count == 1)
        }
        var edit = ShareEdit()
        edit.allowsAccessRequests = false
        edit.publicPermission = Share.Permission.none
        #expect(try read(Self.request(ShareSave(edit: edit))).shares["share"]?.edit == edit)
    }

    @Test("may say nothing beside its fields")
    func fieldsAlone() throws {
        let zone = try read(Self.request(nil))
        #expect(zone.shares.isEmpty && zone.saves[0].fields.problem == nil)
    }

    @Test("is one of a share: a record of another type can't change one, nor have its fields")
    func otherType() throws {
        let zone = try read(Self.request(Self.everything, type: "Note"))
        #expect(zone.saves[0].fields.problem?.code == .invalidArguments && zone.shares.isEmpty)
        let plain = try read(Self.request(nil, type: "Note"))
        #expect(plain.saves[0].fields.problem?.code == .invalidArguments)
        #expect(plain.saves[1].fields.problem == nil, "the record beside it is read")
    }

    @Test("are counted over a request before they are read")
    func tooMany() throws {
        func request(_ count: Int) -> ProtoBytes {
            var change = ProtoBytes()
            for number in 0..<count { change = change.text(4, "p\(number)") }
            let save = ProtoBytes().text(1, "share").text(2, Names.shareType).message(10, change)
            let zone = ProtoBytes().message(1, ProtoBytes().text(1, "Notes")).message(2, save)
            return ProtoBytes().varint(1, 2).message(5, zone)
        }
        #expect(try request(400).bytes.decoded(coder.decodeModifyRecordsRequest).zones[0].shares.count == 1)
        let error = #expect(throws: ServiceError.self) {
            try request(401).bytes.decoded(coder.decodeModifyRecordsRequest)
        }
        #expect(error?.code == .limitExceeded)
    }

    private func problem(_ change: ProtoBytes) throws -> ServiceError? {
        let save = ProtoBytes().text(1, "share").text(2, Names.shareType).message(10, change)
        let zone = ProtoBytes().message(1, ProtoBytes().text(1, "Notes")).message(2, save)
        let request = ProtoBytes().varint(1, 2).message(5, zone)
        return try request.bytes.decoded(coder.decodeModifyRecordsRequest).zones[0].saves[0].fields.problem
    }

    @Test("fails by itself with what no share can have")
    func problems() throws {
        let put = ProtoBytes().text(1, "p").varint(6, 3).varint(7, 2)
        #expect(try problem(ProtoBytes().message(5, put)) == nil)
        let wrong: [(ProtoBytes, String)] = [
            (ProtoBytes().varint(2, 4), "an unknown public permission"),
            (ProtoBytes().varint(3, 3), "an unknown word on access requests"),
            (ProtoBytes().bytes(4, [0xFF]), "an id that is no text"),
            (ProtoBytes().message(5, ProtoBytes().text(1, "p").varint(6, 1).varint(7, 2)), "owner"),
            (ProtoBytes().message(5, ProtoBytes().text(1, "p").varint(6, 3)), "permission"),
            (ProtoBytes().message(5, ProtoBytes().text(1, "p").text(2, "alice").varint(6, 3).varint(7, 2)), "address"),
            (ProtoBytes().message(5, ProtoBytes().text(1, "p").text(3, "123").varint(6, 3).varint(7, 2)), "number"),
            (ProtoBytes().bytes(1, [0xFF]), "a root that is no text"),
        ]
        for (change, what) in wrong {
            #expect(try problem(change)?.code == .invalidArguments, "\(what)")
        }
    }
}
