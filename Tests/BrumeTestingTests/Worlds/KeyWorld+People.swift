import BrumeRandom
import BrumeTesting
import CloudKit
import Foundation
import Testing

/// Devices and guests that come and go.
extension KeyWorld {
    // MARK: Devices of an account

    private func members(of user: String) -> [Member] { all.filter { $0.user == user } }

    func letIn(of user: String) -> Action? {
        let members = members(of: user)
        guard let known = members.filter(\.isLetIn).randomElement(using: &random),
            let new = members.filter({ !$0.isLetIn }).randomElement(using: &random)
        else { return nil }
        return Action(name: "let in", member: new, isSure: true) { [self] in
            note("\(known.device) lets \(new.device) in")
            // From the call on it may have the keys, whatever becomes of the answer, and read what the others did.
            new.isLetIn = true
            for member in members { new.allowed.formUnion(member.allowed) }
            try await known.device.letIn(new.device)
            // It may know keys from before a backup was restored.
            new.mayBeBehind = user == "ada" && !backups.isEmpty
            if new.mayBeBehind { try await goOn(new) }
        }
    }

    func removeDevice(of user: String) -> Action? {
        let members = members(of: user).filter(\.isLetIn).shuffled(using: &random)
        guard members.count > 1 else { return nil }
        let (remover, lost) = (members[0], members[1])
        return Action(name: "remove a device", member: remover, isSure: true) { [self] in
            try await allow()
            note("\(remover.device) removes \(lost.device)")
            let devices = try await remover.device.container.encryptionDevices()
            guard let device = devices.first(where: { $0.id == lost.listedAs }) else { return }
            try await remover.device.container.removeEncryptionDevice(device)
        }
    }

    func replaceCode(by member: Member) -> Action {
        Action(name: "replace the code", member: member, isSure: true) { [self] in
            note("\(member.device) has another recovery code")
            _ = try await member.device.container.replaceRecoveryCode()
        }
    }

    /// Ada has lost all devices and the code, and begins anew: what was encrypted is gone, and so is the zone.
    func beginAnew(by member: Member) -> Action {
        Action(name: "begin anew", member: member) { [self] in
            try await allow()
            note("\(member.device) begins anew")
            for other in ada where other !== member { other.isLetIn = false }
            member.isLetIn = true
            _ = try await member.device.container.resetEncryption()
        }
    }

    /// The app makes the zone and its records, as it does first of all, and after they have gone.
    func makeRecords(by member: Member) async throws {
        note("\(member.device) makes the zone")
        let database = member.device.privateCloudDatabase
        // No device goes back to an earlier life of the zone, whatever the server shows.
        backups = []
        try await database.save(zone)
        for name in ["root", "own"] { try await database.save(makeRecord(name, below: nil)) }
    }

    /// Which devices have the accounts' keys, by what those see that have them.
    func lookAtDevices() async throws {
        for user in ["ada", "bob", "eve"] {
            let members = members(of: user)
            var listed: [CKContainer.EncryptionDevice.ID] = []
            for member in members where member.isLetIn {
                // Another one may have begun anew, or the server went back to what was before that.
                guard try await member.device.container.encryptionStatus() != .conflict else { continue }
                let devices = try await member.device.container.encryptionDevices()
                let own = devices.first(where: \.isCurrent)
                if let own { member.listedAs = own.id }
                if own != nil { listed = devices.map(\.id) }
            }
            if listed.isEmpty {
                // The first one that needed keys has made them.
                for member in members {
                    member.isLetIn = try await member.device.container.encryptionStatus() == .available
                }
                continue
            }
            for member in members {
                member.isLetIn = member.listedAs.map(listed.contains) ?? false
            }
        }
    }

    // MARK: Guests

    func makeShare(by member: Member) async throws {
        let database = member.device.privateCloudDatabase
        let root = shared == .zone ? nil : try await database.record(for: id("root"))
        let share =
            root.map { CKShare(rootRecord: $0, shareID: shareID) } ?? CKShare(recordZoneID: zone.zoneID)
        if isOpen { share.publicPermission = .readWrite }
        _ = try await database.modifyRecords(saving: [root, share].compactMap(\.self), deleting: [])
    }

    private func user(_ guest: Guest) -> CKRecord.ID { guest.members[0].device.account!.userRecordID }

    private func share(on member: Member) async throws -> CKShare? {
        try await member.device.privateCloudDatabase.record(for: shareID) as? CKShare
    }

    /// A guest gets the link from Ada, and opens it. A device of hers hands out the keys.
    func join(_ guest: Guest, by member: Member) -> Action {
        Action(name: "join", member: guest.members[0]) { [self] in
            note("\(guest.user) joins by a link from \(member.device)")
            if try await share() == nil { try await makeShare(by: member) }
            guard let share = try await share(on: member) else { return }
            if !isOpen {
                let participant = try await member.device.container.shareParticipant(forUserRecordID: user(guest))
                participant.permission = .readWrite
                share.addParticipant(participant)
                try await member.device.privateCloudDatabase.save(share)
            }
            guest.url = share.url
            // From the call on they may have the keys, whatever becomes of the answer.
            (guest.isAdmitted, guest.outBy) = (true, nil)
            try await accept(try #require(share.url), by: guest)
            try await handOut(by: member)
        }
    }

    private func accept(_ url: URL, by guest: Guest) async throws {
        // Where a backup was restored it is the link that has each device go on with what the owner has.
        let known = guest.members.filter(\.isLetIn)
        for member in known.isEmpty ? [guest.members[0]] : known {
            let metadata = try await member.device.container.shareMetadata(for: url)
            do {
                _ = try await member.device.container.accept(metadata)
            } catch let error as CKError where error.code == .permissionFailure {
                try await trustOwner(on: member)
                _ = try await member.device.container.accept(metadata)
            }
        }
    }

    /// Ada has begun anew, and somebody compares her safety number.
    private func trustOwner(on member: Member) async throws {
        let database = member.device.sharedCloudDatabase
        let people =
            shared == .zone
            ? try await database.encryptionPeople(of: id("root", for: member).zoneID)
            : try await database.encryptionPeople(ofShared: id("root", for: member))
        for person in people where person.userRecordID == ada[0].device.account!.userRecordID {
            note("\(member.device) takes the owner's keys, who is \(person.standing)")
            try await member.device.container.trust(person)
            count("trusted")
        }
    }

    /// Keys for whoever waits and has shown that they had the link.
    func handOut(by member: Member) async throws {
        _ = try await member.device.privateCloudDatabase.record(for: shareID)
    }

    /// Somebody who has left, or was removed, opens what they have kept of the link. It opens no keys once a device of
    /// Ada's has looked.
    func comeBack(_ guest: Guest, lookedAtBy member: Member) -> Action? {
        guard isOpen, !guest.isAdmitted, let url = guest.url else { return nil }
        return Action(name: "come back", member: guest.members[0]) { [self] in
            guard try await share() != nil else { return }
            let (isWhole, isLooked) = (random.oneIn(2), random.oneIn(2))
            let newest = isLooked ? try await share(on: member)?.url : nil
            note("\(guest.user) comes back by \(isWhole ? "the former link" : "a link without keys")")
            if isWhole, !isLooked || newest == url { (guest.isAdmitted, guest.outBy) = (true, nil) }
            var parts = try #require(URLComponents(url: url, resolvingAgainstBaseURL: false))
            if !isWhole { parts.fragment = nil }
            try await accept(try #require(parts.url), by: guest)
        }
    }

    /// Ada decides that whoever waits for the keys gets them.
    func approve(by member: Member) -> Action {
        Action(name: "approve", member: member) { [self] in
            for person in try await people(on: member) where person.isWaiting {
                guard let guest = guests.first(where: { user($0) == person.userRecordID }) else { continue }
                note("\(member.device) gives keys to \(guest.user), who is \(person.standing)")
                (guest.isAdmitted, guest.outBy) = (true, nil)
                let person = person.standing == .changed ? try await member.device.container.trust(person) : person
                try await member.device.privateCloudDatabase.giveEncryptionKeys(to: person)
                count("given")
            }
        }
    }

    func people(on member: Member) async throws -> [CKContainer.EncryptionPerson] {
        let database = member.device.privateCloudDatabase
        return shared == .zone
            ? try await database.encryptionPeople(of: zone.zoneID)
            : try await database.encryptionPeople(ofShared: id("root"))
    }

    func remove(_ guest: Guest, by member: Member) -> Action {
        Action(name: "remove a guest", member: member) { [self] in
            try await allow()
            guard let share = try await share(on: member),
                let participant = share.participants.first(where: { $0.userIdentity.userRecordID == user(guest) })
            else { return }
            note("\(member.device) removes \(guest.user)")
            share.removeParticipant(participant)
            try await member.device.privateCloudDatabase.save(share)
            try await encryptWithout([guest])
        }
    }

    func leave(_ guest: Guest) -> Action {
        Action(name: "leave", member: guest.members[0]) { [self] in
            try await allow()
            note("\(guest.user) leaves")
            let id = id(shareID.recordName, isOwner: false)
            try await guest.members[0].device.sharedCloudDatabase.deleteRecord(withID: id)
            try await encryptWithout([guest])
        }
    }

    func endShare(by member: Member) -> Action {
        Action(name: "end the share", member: member) { [self] in
            try await allow()
            guard try await share() != nil else { return }
            note("\(member.device) shares no more")
            try await member.device.privateCloudDatabase.deleteRecord(withID: shareID)
            try await encryptWithout(guests)
        }
    }

    /// A device of Ada's encrypts something now and then where guests have gone, and so there are other keys.
    private func encryptWithout(_ gone: [Guest]) async throws {
        guard random.oneIn(2), let member = ada.filter(\.isLetIn).randomElement(using: &random) else { return }
        note("\(member.device) encrypts without \(gone.map(\.user))")
        let record = try await member.device.privateCloudDatabase.record(for: id("root"))
        try set(newValues(of: "root", ["title"]), of: record)
        try await member.device.privateCloudDatabase.save(record)
        for guest in gone { guest.outBy = member }
    }
}
