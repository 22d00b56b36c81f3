import BrumeTesting
import CloudKit
import Foundation
import Testing

/// What has to be read, and what must not be.
extension KeyWorld {
    /// A record as the server has it.
    struct Shown {
        let version: Int
        let parent: String?
    }

    /// What the server has, by the records' names; nothing where there is no zone.
    func shown() async throws -> [String: Shown] {
        let changes: [CKRecord.ID: Result<CKDatabase.RecordZoneChange.Modification, any Error>]
        do {
            changes = try await onlooker.privateCloudDatabase.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
                .modificationResultsByID
        } catch let error as CKError where error.code == .zoneNotFound {
            return [:]
        }
        var shown: [String: Shown] = [:]
        for (id, result) in changes {
            let record = try result.get().record
            guard let version = record["version"] as Int? else { continue }
            expect(
                record.encryptedValues.allKeys().isEmpty && record["photo"] == nil,
                "a device that nobody let in reads \(id.recordName)")
            shown[id.recordName] = Shown(version: version, parent: record.parent?.recordID.recordName)
        }
        return shown
    }

    func share() async throws -> CKShare? {
        do {
            return try await onlooker.privateCloudDatabase.record(for: shareID) as? CKShare
        } catch let error as CKError where [.unknownItem, .zoneNotFound].contains(error.code) {
            return nil
        }
    }

    func takesPart(_ guest: Guest, in share: CKShare?) -> Bool {
        let user = guest.members[0].device.account!.userRecordID.recordName
        return share?.participants.contains {
            $0.userIdentity.userRecordID?.recordName == user && $0.acceptanceStatus == .accepted
        } == true
    }

    func isShared(_ name: String, in records: [String: Shown]) -> Bool {
        if shared == .zone { return true }
        var next: String? = name
        while let name = next {
            if name == "root" { return true }
            next = records[name]?.parent
        }
        return false
    }

    // MARK: Who may read

    /// Whoever has the keys may read what is there now, from now on, and what was there before: keys open what was
    /// encrypted earlier, which a restored server brings back.
    @discardableResult
    func allow() async throws -> [String: Shown] {
        let records = try await shown()
        for (name, record) in records {
            former[name, default: []].formUnion(versions[record.version]!.values)
            let values = former[name]!
            for member in ada where member.isLetIn { member.allowed.formUnion(values) }
            for guest in guests where guest.isAdmitted && isShared(name, in: records) {
                for member in guest.members where member.isLetIn { member.allowed.formUnion(values) }
            }
        }
        return records
    }

    // MARK: What is read

    /// Everybody reads: those who were let in all of their own, and nobody what they may not.
    ///
    /// - Parameter isWhole: Whether guests have to read all that is shared, too.
    func look(isWhole: Bool = false) async throws {
        let share = try await share()
        for guest in guests where !takesPart(guest, in: share) { guest.isAdmitted = false }
        let records = try await allow()
        for member in all {
            let isOwn = member.user == "ada"
            let isGuestIn = isWhole && guests.contains { $0.user == member.user && $0.isAdmitted }
            let seen = try await seen(by: member, records.keys.sorted())
            for (name, shown) in records where isOwn || isShared(name, in: records) {
                let expected = versions[shown.version]!
                let read = try seen[name].map(values) ?? [:]
                for (field, value) in read {
                    expect(
                        member.allowed.contains(value) && expected[field] == value,
                        "\(member.device) reads \"\(value)\" in \(field) of \(name)")
                }
                guard member.isLetIn, isOwn && !member.mayBeBehind || isGuestIn else { continue }
                let reasons = seen[name]?.unreadableFields.description ?? "no record"
                expect(read == expected, "\(member.device) reads \(read) of \(name), not \(expected): \(reasons)")
            }
        }
    }

    private func seen(by member: Member, _ names: [String]) async throws -> [String: CKRecord] {
        if !member.device.isOnline { return [:] }
        let ids = names.map { id($0, for: member) }
        var seen: [String: CKRecord] = [:]
        for (id, result) in try await database(of: member).records(for: ids) {
            if let record = try? result.get() { seen[id.recordName] = record }
        }
        return seen
    }

    private func values(of record: CKRecord) throws -> [String: String] {
        var values: [String: String] = [:]
        for field in record.encryptedValues.allKeys() { values[field] = record.encryptedValues[field] }
        if let file = (record["photo"] as? CKAsset)?.fileURL {
            values["photo"] = try String(contentsOf: file, encoding: .utf8)
        }
        return values
    }
}
