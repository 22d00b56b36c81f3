internal import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// Zones of other users, in journal entries and snapshots.
extension StoreCoder {
    static func askedZone(
        _ zone: UnsafeMutablePointer<Brume__Store__V1__AskedZone>
    ) throws(StoreCodingError) -> AskedZone {
        AskedZone(owner: try userRecordName(zone.pointee.owner), incarnation: zone.pointee.zone)
    }

    static func sharedZone(
        _ zone: UnsafeMutablePointer<Brume__Store__V1__SharedZone>
    ) throws(StoreCodingError) -> SharedZone {
        let name = try text(zone.pointee.name, "a zone name")
        if let problem = Names.problemWithZoneName(name) { throw StoreCodingError(problem) }
        return SharedZone(
            id: ZoneID(name: name, owner: try userRecordName(zone.pointee.owner)), incarnation: zone.pointee.zone,
            start: ChangePosition(rawValue: zone.pointee.start), run: zone.pointee.run,
            isWhole: zone.pointee.in_part == 0)
    }

    private static func userRecordName(_ data: ProtobufCBinaryData) throws(StoreCodingError) -> String {
        let name = try text(data, "a user record name")
        guard Names.isUserRecordName(name) else {
            throw StoreCodingError("the owner of a zone is named by something that is no user record name")
        }
        return name
    }
}

extension MessageArena {
    func askedZone(_ zone: AskedZone) -> Pointer<Brume__Store__V1__AskedZone> {
        let message = make(brume__store__v1__asked_zone__init)
        message.pointee.owner = data(zone.owner)
        message.pointee.zone = zone.incarnation
        return message
    }

    func sharedZone(_ zone: SharedZone) -> Pointer<Brume__Store__V1__SharedZone> {
        let message = make(brume__store__v1__shared_zone__init)
        message.pointee.owner = data(zone.id.owner)
        message.pointee.name = data(zone.id.name)
        message.pointee.zone = zone.incarnation
        message.pointee.start = zone.start.rawValue
        message.pointee.run = zone.run
        message.pointee.in_part = zone.isWhole ? 0 : 1
        return message
    }

    func snapshotSharedZone(_ zone: SnapshotSharedZone) -> Pointer<Brume__Store__V1__SnapshotSharedZone> {
        let message = make(brume__store__v1__snapshot_shared_zone__init)
        message.pointee.zone = sharedZone(zone.zone)
        message.pointee.position = zone.position.rawValue
        message.pointee.is_ended = zone.isEnded ? 1 : 0
        message.pointee.earlier_end = zone.earlierEnd.rawValue
        return message
    }
}
