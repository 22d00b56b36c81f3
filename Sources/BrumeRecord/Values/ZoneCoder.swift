package import BrumeModel
package import CBrumeProto

/// ``ZoneID`` and `brume.v1.ZoneID`, which stands in requests, answers, events and subscriptions.
package enum ZoneCoder {
    /// A zone that a request is about: an unusable name fails the request, because nothing in it could be done.
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

    /// A zone as an item of a request: a bad name is the item's own failure, found by ``Names`` where the item is done.
    package static func lossy(_ zone: UnsafeMutablePointer<Brume__V1__ZoneID>) -> ZoneID {
        ZoneID(name: zone.pointee.name.lossyText, owner: zone.pointee.owner.lossyText)
    }

    /// A zone as an item; its owner is checked for all items alike.
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
