package import BrumeModel
internal import BrumeWire

extension Database {
    /// Deletes everything that users have put here, as they could themselves: custom zones with their subscriptions, records of
    /// the default zone. User records stay, without fields. One commit of bounded size at a time; nil when nothing is left.
    ///
    /// - Parameter limit: Records of the default zone that one commit changes.
    package func empty(limit: Int = 4_096, nowMilliseconds: Int64) -> (commit: Commit, records: Int)? {
        var builder = CommitBuilder(sequence: sequence + 1)
        var records = 0
        for zone in zones where !zone.id.isDefault {
            if case .success(let index) = zoneIndex(of: zone.id) { records += zoneStates[index].liveCount }
            _ = delete(zone.id, into: &builder)
        }
        var types = Set<String>()
        let tag = ChangeTag(epoch: run, sequence: builder.sequence)
        for (slot, record) in zoneStates[0].liveSlots {
            if Int(builder.positions) >= limit { break }
            if record.type == Names.userRecordType {
                guard var user = emptied(record) else { continue }
                user.system.changeTag = tag.text
                user.system.modifiedMilliseconds = nowMilliseconds
                put(
                    RecordSlot(
                        name: record.name, type: record.type, position: .start, tag: tag,
                        bytes: StoredRecord.encode(user.system, fields: []), parent: "", cascadeTargets: [],
                        isDeleted: false), inZoneAt: 0, into: &builder)
            } else {
                deleteRecord(slot, at: builder.nextPosition(), inZoneAt: 0)
                builder.append(.recordDeletion(zone: 0, name: record.name, type: record.type))
                records += 1
            }
            types.insert(record.type)
        }
        if !types.isEmpty {
            builder.touch(
                TouchedZone(
                    zone: .defaultZone, incarnation: 0, recordTypes: types.sorted(), isNew: false, isDeleted: false))
        }
        return finish(builder, nowMilliseconds: nowMilliseconds).map { ($0, records) }
    }

    /// A user record that has fields or a parent; nil for one that has none.
    private func emptied(_ record: RecordSlot) -> StoredRecord.Parts? {
        do throws(ServiceError) {
            var parts = try StoredRecord.parts(of: record.bytes)
            if parts.fields.isEmpty, parts.system.parent == nil { return nil }
            parts.system.parent = nil
            return parts
        } catch {
            return nil
        }
    }

    /// What the records of a type tell a schema that does not know them: data from before schemas were kept. The first record
    /// that has a field decides its type.
    ///
    /// - Complexity: O(records) of the database.
    package func lesson(ofType type: String) -> SchemaLesson {
        var lesson = SchemaLesson()
        for zone in zoneStates {
            for (_, record) in zone.liveSlots where record.type == type {
                guard let parts = try? StoredRecord.parts(of: record.bytes) else { continue }
                lesson.note(type: type)
                for field in parts.fields {
                    if let fieldType = SchemaFieldType(learnedFrom: StoredRecord.kind(of: field)) {
                        lesson.note(fieldType, of: field.key, in: type)
                    }
                }
            }
        }
        return lesson
    }
}
