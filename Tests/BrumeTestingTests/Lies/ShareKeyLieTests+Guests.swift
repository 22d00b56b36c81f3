import BrumeTesting
import CloudKit
import Testing

/// Lies about those who take part in a share, or ask to.
extension ShareKeyLieTests {
    @Test(
        "are given to no guest whose own keys the server hides, or makes up, until it does not",
        arguments: LiedShare.Kind.allCases)
    func guestsKeys(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            let zoneID = share.zoneID(for: share.ada)
            let eve = share.user(share.eve)
            for (number, lie) in [
                ServerLie.showsStrangersKeys(ofUser: eve, in: zoneID), .hidesKeys(ofUser: eve, in: zoneID),
            ].enumerated() {
                let rule = try await share.server.lie(lie, to: share.ada)
                if number == 0 { try await share.accept(by: share.eve) }
                try await share.handOut()
                try await share.looksAgain(share.ada)
                try await share.save("mine \(number)", by: share.ada)
                for name in ["item", "mine \(number)"] { try await share.isClosed(name, by: share.eve) }
                try await share.isRead("mine \(number)", by: share.bob)
                rule.remove()
            }
            try await share.handOut()
            try await share.isWhole(["root", "item", "mine 0", "mine 1"], by: [share.ada, share.bob, share.eve])
        }
    }

    @Test(
        "are read by no guest from whom the server hides another member's own keys, until it does not",
        arguments: LiedShare.Kind.allCases)
    func membersKeys(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            let lie = try await share.server.lie(
                .hidesKeys(ofUser: share.user(share.bob), in: share.zoneID(for: share.eve)), to: share.eve)
            try await share.takeIn(share.eve)
            try await share.isClosed(by: share.eve, .noKeys)
            await share.cannotSave(by: share.eve)
            lie.remove()
            try await share.takeIn(share.eve)
            try await share.isWhole(by: [share.ada, share.bob, share.eve])
        }
    }

    @Test(
        "are given to nobody whom the server says to wait for them, without a proof that they had the link",
        arguments: LiedShare.Kind.allCases)
    func guestsWithoutTheLink(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            let proofs = [ServerLie.GuestProof.none, .forged, .ofMember]
            // First she has asked for nothing, and the server makes up her keys.
            for isWaiting in [false, true] {
                if isWaiting { try await share.accept(by: share.eve, hasKeys: false) }
                for proof in proofs {
                    let lie = try await share.server.lie(
                        .showsGuest(share.user(share.eve), withProof: proof, of: share.shared(for: share.ada)),
                        to: share.ada)
                    try await share.handOut()
                    try await share.looksAgain(share.ada)
                    let name = "\(proof) \(isWaiting)"
                    try await share.newKey(name)
                    #expect(lie.firedCount > 0)
                    for device in [share.ada, share.bob] { try await share.isRead(name, by: device) }
                    if isWaiting { for name in ["item", name] { try await share.isClosed(name, by: share.eve) } }
                    lie.remove()
                }
            }
            try await share.takeIn(share.eve)
            try await share.isWhole(by: [share.ada, share.bob, try share.eve.relaunched()])
        }
    }

    @Test(
        "reach a guest whom the server has kept waiting once it does not",
        arguments: LiedShare.Kind.allCases)
    func waiting(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind, isBobIn: false) { share in
            let hiding = try await share.server.lie(.hidesGuests(of: share.shared(for: share.ada)), to: share.ada)
            let refusing = try await share.server.lie(
                .refusesToJoin(share.shared(for: share.bob)), to: share.bob)
            #expect(await failure { try await share.takeIn(share.bob) }?.code == .zoneBusy)
            try await share.handOut()
            for lie in [refusing, hiding] {
                try await share.save("\(lie)", by: share.ada)
                try await share.isClosed(by: share.bob)
                await share.cannotSave(by: share.bob)
                lie.remove()
                try await share.takeIn(share.bob)
            }
            try await share.isWhole(by: [share.ada, share.bob])
        }
    }

    // MARK: Members

    @Test(
        "are others once a member is said to have left, or to have other keys, and reach the member by the new link",
        arguments: LiedShare.Kind.allCases)
    func members(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            let (bob, shared) = (share.user(share.bob), share.shared(for: share.ada))
            let lies = [ServerLie.saysMemberLeft(bob, of: shared), .saysMemberHasOtherKeys(bob, of: shared)]
            for (number, lie) in lies.enumerated() {
                let url = try await share.url()
                let rule = try await share.server.lie(lie, to: share.ada)
                let others = try await share.server.lie(
                    .showsStrangersKeys(ofUser: bob, in: share.zoneID(for: share.ada)), to: share.ada)
                try await share.looksAgain(share.ada)
                try await share.save("without \(number)", by: share.ada)
                try await share.isClosed("without \(number)", by: share.bob)
                try await share.isRead(by: share.bob)
                await share.cannotSave(by: share.bob)
                rule.remove()
                others.remove()
                #expect(try await share.url().fragment != url.fragment)
                try await share.takeIn(share.bob)
                try await share.isWhole(["root", "item", "without \(number)"], by: [share.ada, share.bob])
            }
        }
    }

    @Test(
        "are others once the app has removed somebody, also where the server says that nobody left",
        arguments: LiedShare.Kind.allCases)
    func removed(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            try await share.takeIn(share.eve)
            let lie = try await share.server.lie(
                .hidesDepartures(of: share.shared(for: share.ada)), to: share.ada)
            try await share.remove(share.bob)
            try await share.isWhole(by: [share.ada, share.eve])
            lie.remove()
            try await share.isWhole(by: [share.ada, share.eve])
            #expect(await failure { try await share.fetched("item", by: share.bob) } != nil)
        }
    }

    @Test(
        "encrypt nothing once the app has removed somebody until others stand, also where the server refuses these for long",
        arguments: LiedShare.Kind.allCases)
    func removedInVain(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            try await share.takeIn(share.eve)
            let lie = try await share.server.lie(
                .hidesDepartures(of: share.shared(for: share.ada)), to: share.ada)
            let refusal = share.server.script.fail(
                .modifyEncryptionKeys.from("ada"), with: .serviceUnavailable, times: .max)
            try await share.remove(share.bob)
            await share.cannotSave(by: share.ada, .serviceUnavailable)
            // Reading what there is makes nothing fit for writing.
            try await share.isRead(by: share.ada)
            await share.cannotSave(by: share.ada, .serviceUnavailable)
            let ada = try share.ada.relaunched()
            try await share.isRead(by: ada)
            await share.cannotSave(by: ada, .serviceUnavailable)
            refusal.remove()
            try await share.save("later", by: ada)
            try await share.isWhole(["root", "item", "later"], by: [ada, share.eve])
            lie.remove()
        }
    }

    @Test("are given again to whom the app has removed, and invites again", arguments: LiedShare.Kind.allCases)
    func invitedAgain(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            try await share.remove(share.bob)
            try await share.save("later", by: share.ada)
            let shown = try await share.handOut()
            let participant = try await share.ada.container.shareParticipant(
                forUserRecordID: share.user(share.bob))
            participant.permission = .readWrite
            shown.addParticipant(participant)
            try await share.ada.privateCloudDatabase.save(shown)
            try await share.takeIn(share.bob)
            try await share.isWhole(["root", "item", "later"], by: [share.ada, share.bob])
        }
    }

    @Test("stay a member's whom the app wanted to remove with a save that the server refuses")
    func removalRefused() async throws {
        try await LiedShare.run(.record) { share in
            let refusal = share.server.script.failSaves(of: "cloudkit.share", with: .serviceUnavailable)
            #expect(await failure { try await share.remove(share.bob) }?.code == .serviceUnavailable)
            refusal.remove()
            try await share.save("later", by: share.ada)
            try await share.isWhole(["root", "item", "later"], by: [share.ada, share.bob])
        }
    }

    @Test(
        "encrypt nothing that the server takes where it hides that somebody left, until it does not",
        arguments: LiedShare.Kind.allCases)
    func hiddenDeparture(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            try await share.takeIn(share.eve)
            let lie = try await share.server.lie(
                .hidesDepartures(of: share.shared(for: share.eve)), to: share.eve)
            try await share.leave(share.bob)
            #expect(await share.codeOfSave(by: share.eve) == .accountTemporarilyUnavailable)
            try await share.isRead(by: share.eve)
            lie.remove()
            try await share.isWhole(by: [share.eve, share.ada])
        }
    }

    @Test(
        "that a reader has made, or somebody who takes part no more, open nothing and encrypt nothing",
        arguments: LiedShare.Kind.allCases, [CKShare.ParticipantPermission.readOnly, .readWrite])
    func forbidden(kind: LiedShare.Kind, permission: CKShare.ParticipantPermission) async throws {
        try await LiedShare.run(kind, eveMay: permission) { share in
            try await share.takeIn(share.eve)
            try await share.isRead(by: share.eve)
            if permission == .readWrite { try await share.remove(share.eve) }
            let lie = try await share.server.lie(
                .showsKeys(of: share.shared(for: share.bob), madeBy: share.eve), to: share.bob)
            try await share.newKey()
            try await share.isClosed("later", by: share.bob)
            await share.cannotSave(by: share.bob, afterAttempts: 1)
            try await share.isRead(by: share.bob)
            lie.remove()
            try await share.isWhole(["root", "item", "later"], by: [share.ada, try share.bob.relaunched()])
            // Those who may make keys are no lie.
            await #expect(throws: TestServerError.self) {
                try await share.server.lie(
                    .showsKeys(of: share.shared(for: share.bob), madeBy: share.ada), to: share.bob)
            }
        }
    }

    @Test(
        "are open to nobody by themselves in a private share, which is not saved where the server keeps the open link",
        arguments: LiedShare.Kind.allCases)
    func openLink(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            let open = try await share.handOut()
            for participant in open.participants where participant.role != .owner {
                open.removeParticipant(participant)
            }
            open.publicPermission = .readWrite
            try await share.ada.privateCloudDatabase.save(open)
            let lie = try await share.server.lie(
                .showsKeys(of: share.shared(for: share.ada), upTo: share.firstNumber), to: share.ada)
            open.publicPermission = .none
            #expect(await failure { try await share.ada.privateCloudDatabase.save(open) } != nil)
            #expect(try await share.handOut().publicPermission == .readWrite)
            lie.remove()
            let again = try await share.handOut()
            again.publicPermission = .none
            try await share.ada.privateCloudDatabase.save(again)
        }
    }
}
