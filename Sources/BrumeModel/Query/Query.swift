/// `CKQuery` as a value: which records of a type, and in which order.
package struct Query: Hashable, Sendable {
    /// The record type; empty means all types, which is only valid in a private database, with the predicate that is
    /// always true and without a sort.
    package var recordType: String
    package var predicate: Predicate
    /// The sort keys, the most significant first. Records that compare equal, and all records when there is no key,
    /// come in the order of their creation.
    package var sortDescriptors: [QuerySort]

    package init(recordType: String, predicate: Predicate, sortDescriptors: [QuerySort] = []) {
        self.recordType = recordType
        self.predicate = predicate
        self.sortDescriptors = sortDescriptors
    }

    /// The query for all records, oldest first: it lists a default zone, which has no feed.
    package static let everything = Query(recordType: "", predicate: .constant(true))
}

/// One key that a query sorts by. Records without the field stand last, in either direction.
package struct QuerySort: Hashable, Sendable {
    /// A place, in degrees, to sort by the distance from: `CKLocationSortDescriptor`.
    package struct Place: Hashable, Sendable {
        package var latitude: Double
        package var longitude: Double

        package init(latitude: Double, longitude: Double) {
            self.latitude = latitude
            self.longitude = longitude
        }
    }

    package var key: QueryKey
    package var isAscending: Bool
    package var relativeTo: Place?

    package init(key: QueryKey, isAscending: Bool = true, relativeTo: Place? = nil) {
        self.key = key
        self.isAscending = isAscending
        self.relativeTo = relativeTo
    }
}

/// A request for one page of a query's matches.
package struct QueryRequest: Hashable, Sendable {
    package var database: DatabaseScope
    /// The zone to search; nil means all zones of the database.
    package var zone: ZoneID?
    package var query: Query
    /// The cursor of the previous page; empty for the first page. A cursor is only valid with the query and the zone
    /// that it came from.
    package var cursor: [UInt8]
    /// The largest number of matches in the page; 0 means the server's own page size.
    package var resultsLimit: Int
    package var desiredKeys: DesiredKeys?

    package init(
        database: DatabaseScope, zone: ZoneID?, query: Query, cursor: [UInt8] = [], resultsLimit: Int = 0,
        desiredKeys: DesiredKeys? = nil
    ) {
        self.database = database
        self.zone = zone
        self.query = query
        self.cursor = cursor
        self.resultsLimit = resultsLimit
        self.desiredKeys = desiredKeys
    }
}

/// A match and the zone it is in. The server's form of `Content` is the encoded record, the client's is ``Record``.
package struct QueryMatch<Content: Equatable & Sendable>: Equatable, Sendable {
    package var zone: ZoneID
    package var record: Content

    package init(zone: ZoneID, record: Content) {
        self.zone = zone
        self.record = record
    }
}

/// One page of a query's matches.
package struct QueryPage<Content: Equatable & Sendable>: Equatable, Sendable {
    package var matches: [QueryMatch<Content>]
    /// The cursor for the next page; empty when there is none.
    package var cursor: [UInt8]

    package init(matches: [QueryMatch<Content>], cursor: [UInt8]) {
        self.matches = matches
        self.cursor = cursor
    }
}

/// How the server runs a query: the answer to an explanation.
package struct QueryPlan: Equatable, Sendable {
    /// The query as the server ran it, with its values; a long one is cut.
    package var query: String
    /// One step of the plan, outermost first, such as "index Note.title, prefix \"ab\": 12 records".
    package var steps: [String]
    /// About how many records would be read in all zones, as estimated from the indexes' counts when the plan was
    /// chosen.
    package var recordsEstimated: Int
    /// Entries of indexes that were read.
    package var entriesRead: Int
    /// Records whose fields were looked at.
    package var recordsRead: Int
    /// Records in the page.
    package var matches: Int
    /// Time on the server's loop, over all slices, without the waits between them.
    package var microseconds: Int
    /// Slices that the work was cut into, so that no other request waited for all of it.
    package var slices: Int

    package init(
        query: String = "", steps: [String], recordsEstimated: Int = 0, entriesRead: Int, recordsRead: Int,
        matches: Int,
        microseconds: Int = 0, slices: Int = 1
    ) {
        self.query = query
        self.steps = steps
        self.recordsEstimated = recordsEstimated
        self.entriesRead = entriesRead
        self.recordsRead = recordsRead
        self.matches = matches
        self.microseconds = microseconds
        self.slices = slices
    }
}
