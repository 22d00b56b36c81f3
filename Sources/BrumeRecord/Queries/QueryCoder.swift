package import BrumeModel
package import CBrumeProto

/// Queries as they are sent, and as cursors are bound to them.
package enum QueryCoder {
    /// Encodes a query, equal queries equally: a cursor is bound to these bytes.
    package static func encode(_ query: Query) -> [UInt8] {
        let arena = MessageArena(bytesLimit: .max)
        return withExtendedLifetime(arena) { packed(arena.query(query)) }
    }
}

extension MessageArena {
    package func query(_ query: Query) -> Pointer<Brume__V1__Query> {
        let message = make(brume__v1__query__init)
        message.pointee.record_type = data(query.recordType)
        message.pointee.predicate = predicate(query.predicate)
        message.pointee.n_sort = query.sortDescriptors.count
        message.pointee.sort = messages(query.sortDescriptors) { sort in
            let descriptor = make(brume__v1__query_sort__init)
            descriptor.pointee.key = queryKey(sort.key)
            descriptor.pointee.descending = sort.isAscending ? 0 : 1
            if let place = sort.relativeTo {
                descriptor.pointee.relative_to = location(
                    Location(latitude: place.latitude, longitude: place.longitude))
            }
            return descriptor
        }
        return message
    }
}
