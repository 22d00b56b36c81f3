package import BrumeModel
package import CBrumeProto

/// Converts between ``ZoneID`` and `brume.v1.ZoneID`, which requests, answers, events and subscriptions hold.
package enum ZoneCoder {
    /// The zone that a whole request is about: an unusable name fails the request, because no part of it could be done.
    package static func checked(_ zone: UnsafeMutablePointer<Brume__V1__ZoneID>?) throws(ServiceError) -> ZoneID {
        guard let zone else { throw ServiceError(.invalidArguments, "a request names no zone; set its name") }
        return try checked(lossy(zone))
    }

    package static func checked(_ id: ZoneID) throws(ServiceError) -> ZoneID {
        if !id.isDefault, let problem = Names.problemWithZoneName(id.name) {
            throw ServiceError(.invalidArguments, problem)
        }
        try checkOwner(id.owner)
        return id
    }

    /// The zone of one item: a bad name fails that item alone, and is found by ``Names`` when the item is processed.
    package static func lossy(_ zone: UnsafeMutablePointer<Brume__V1__ZoneID>) -> ZoneID {
        ZoneID(name: zone.pointee.name.lossyText, owner: zone.pointee.owner.lossyText)
    }

    /// The zone of one item. A bad owner fails the whole request.
    package static func item(_ zone: UnsafeMutablePointer<Brume__V1__ZoneID>) throws(ServiceError) -> ZoneID {
        let id = lossy(zone)
        try checkOwner(id.owner)
        return id
    }

    private static func checkOwner(_ owner: String) throws(ServiceError) {
        guard owner.isEmpty || owner == Names.currentUser || Names.isUserRecordName(owner) else {
            throw ServiceError(
                .invalidArguments, "a zone's owner is no user record name; leave it empty or use \(Names.currentUser)")
        }
    }
}

extension MessageArena {
    package func zoneID(_ zone: ZoneID) -> Pointer<Brume__V1__ZoneID> {
        let message = make(brume__v1__zone_id__init)
        message.pointee.name = data(zone.name)
        message.pointee.owner = data(zone.owner)
        return message
    }
}
