/// The limits that client and server share, each with its reason. The server names those in force in its welcome.
package enum Limits {
    /// Items (saves and deletions together) in one request: CloudKit's own limit (Documentation/CloudKit.md, Limits).
    package static let itemsPerRequest = 400

    /// Bytes of one request's message: CloudKit's own limit of 2 MB.
    package static let requestBytes = 2_000_000

    /// Bytes of one record, encoded: CloudKit's own limit of 1 MB.
    package static let recordBytes = 1_000_000

    /// Bytes of one frame's payload. A page of changes holds up to `pageBytes` and then completes its commit, which may
    /// be another request's bytes: 4 MiB holds both with room for system fields.
    package static let frameBytes = 4 * 1024 * 1024

    /// A page of changes or of fetched records stops growing at this size.
    package static let pageBytes = 1024 * 1024

    /// Fields that the server reads for a page whose records are shown in part, which takes some two milliseconds. The
    /// page ends once it has read more. Without this limit, records of thousands of small fields would never fill a
    /// page and would cost many times that.
    package static let pageFieldsRead = 100_000

    /// Bytes of the assets that the records of a page of changes name, where these are shown. A device's token goes on
    /// when it has fetched a page with its assets: one whose network is poor has to get that far before it breaks.
    package static let pageAssetBytes: UInt64 = 64 * 1024 * 1024

    /// The same for a page that completes a commit: half of what a device keeps of assets.
    package static let pageAssetBytesMax: UInt64 = 512 * 1024 * 1024

    /// Changes in a page when the client names no limit.
    package static let changesPerPage = 400

    /// Characters of a record name, zone name, record type or field key.
    package static let nameCharacters = 255

    /// References with `deleteSelf` that may point to one record (Documentation/CloudKit.md, References). In a public
    /// database the limit counts each user's records separately: nobody uses up another user's limit.
    package static let cascadeReferencesPerTarget = 750

    /// References with `deleteSelf` in one record: more than may point to any one record, so that no app reaches it.
    package static let cascadeReferencesPerRecord = 2_000

    /// References with `deleteSelf` that one request adds or removes. Both the older and the newer version of a record
    /// count, and so do records that are deleted with others. Each reference is looked up several times in one piece of
    /// work, some 2 microseconds, and a save waits for two such pieces at most. No request of 400 usual records comes
    /// near.
    package static let cascadeReferencesPerRequest = 10_000

    /// Locations, references and assets in the lists of one request, over all its records. Each is a message that may
    /// have to be decoded, checked and packed separately: some 15 milliseconds together. Locations of a latitude and a
    /// longitude, and references to records named by UUIDs, fill the records before they reach this limit.
    package static let listMessagesPerRequest = 50_000

    /// Bytes of an asset in one message: small enough that other messages of the connection don't wait for long.
    package static let assetChunkBytes = 64 * 1024

    /// Bytes of an enrolment's id.
    package static let enrolmentIDBytes = 16

    /// Messages of one enrolment.
    package static let enrolmentSteps = 4

    /// Bytes of an enrolment's message: more than any has.
    package static let enrolmentMessageBytes = 512

    /// Bytes of a receipt: more than any has.
    package static let receiptBytes = 128

    /// Receipts of one request: each is opened twice in one piece of work, a microsecond each time.
    package static let receiptsPerRequest = 4_000

    /// Assets that one request names, in its own words and in those of the records that it changes: each is looked up
    /// in one piece of work. A request counts as full once it has named this many; the record that it was at is saved.
    package static let assetsPerRequest = 10_000

    /// Assets that one record names: CloudKit tells no limit. A record of 1 MB could otherwise name 20,000, each of
    /// which is looked up when the record changes, and when it goes.
    package static let assetsPerRecord = 1_000

    /// Records that are deleted along with those that a request deletes. They are deleted in one piece of work, which
    /// may take the loop some 20 milliseconds.
    package static let cascadesPerRequest = 4_096

    /// Record changes in one commit: a position's index has 20 bits, and a commit has to fit into memory. Requests stay
    /// far below.
    package static let changesPerCommit = 65_536

    /// Bytes of the stored records that the saves of one request change or find unchanged. Each is read, and mostly
    /// copied, however little of it was sent: some half a millisecond for each megabyte. The first such record of a
    /// request is always allowed. The limit is twice what a request may hold, and bounds what others wait for while it
    /// is written to the disk.
    package static let mergedBytesPerRequest = 4 * 1024 * 1024

    /// Fields of those records: each is looked at by itself, some 30 nanoseconds. A request counts as full once it has
    /// read this many; the record that it was reading is saved.
    package static let mergedFieldsPerRequest = 150_000

    /// Bytes of the records in one commit: those of the older versions, what the request sent, and what the server adds
    /// to each record.
    package static let commitBytes = mergedBytesPerRequest + requestBytes + itemsPerRequest * 1_024

    /// Custom zones of one database: each costs memory and a place in the database's feed.
    package static let zonesPerDatabase = 10_000

    /// Deleted records that a zone's feed reports, or the zone's number of records where that is greater: so history
    /// takes at most half of a zone's places. Above it the oldest are forgotten, and tokens from before them expire.
    package static let tombstonesPerZone = 10_000

    /// Deleted records that the feeds of all zones of a database report. Once there are this many, a zone keeps as many
    /// as it has records, but at least two: each deletion lets it forget two of its oldest. Each may
    /// take 640 bytes: 64 MB in all, where 10,000 zones would otherwise take 64 GB.
    package static let tombstonesPerDatabase = 100_000

    /// What a database may keep besides the bytes of its records before its quota counts it: the places of some
    /// thousand records and deletions, or a thousand zones.
    package static let overheadAllowanceBytes = 1024 * 1024

    /// What a quota counts for a record besides its bytes: its place in the zone, in the feed and among the names.
    package static let recordOverheadBytes = 128

    /// What a quota counts for an asset besides its content: a file takes a block of the disk however small it is, and
    /// a place in memory.
    package static let assetOverheadBytes = 4 * 1024

    /// What a quota counts for a deletion that the feeds report, of a record or of a zone: about what one takes whose
    /// names are usual, and less than the smallest record counts, so that a deletion always makes room.
    package static let tombstoneBytes = 160

    /// What a quota counts for a zone.
    package static let zoneBytes = 1_024

    /// Deleted zones that a database's feed reports, or the number of zones where that is greater. At the limit the
    /// older half is forgotten, and tokens from before it expire.
    package static let deletedZonesPerDatabase = 1_000

    /// Runs of the server that a database tells apart (see `RunHistory` of the store): a token names the run that wrote
    /// its position. A device has to fetch from the start when it was away for this many starts with commits in its
    /// database.
    package static let runsPerDatabase = 1_024

    /// Subscriptions of one user in one database: as many as an app can keep an eye on.
    package static let subscriptionsPerUser = 1_000

    /// Subscriptions of all users of a public database: at a kilobyte or two each they take about as much memory as the
    /// largest app of a server should use.
    package static let subscriptionsPerDatabase = 100_000

    /// Operations whose answers a database remembers, so that a retry has one effect.
    package static let rememberedOperations = 256

    /// The same in a public database, which all users of an app share: a busy moment must not push out one's answer
    /// before the retry.
    package static let rememberedPublicOperations = 16_384

    /// Operations of users who take part in what its owner shares, of all of them together.
    package static let rememberedParticipantOperations = 1_600

    /// Bytes of the answers that a database remembers; the oldest go first.
    package static let rememberedOperationBytes = 1024 * 1024

    /// The same in a public database.
    package static let rememberedPublicOperationBytes = 16 * 1024 * 1024

    /// Bytes of a client token: an app puts a counter or an id of its own there, not data. Each zone keeps some.
    package static let clientTokenBytes = 1_024

    /// Devices whose client tokens a zone keeps: more than a person uses. A device that was set up again counts as
    /// another.
    package static let clientTokensPerZone = 16

    /// Fields of one record. A record of 1 MB could otherwise hold 250,000 of them, and each costs a look-up.
    package static let fieldsPerRecord = 4_096

    /// Field keys that a notification may ask for (Documentation/CloudKit.md, Subscriptions).
    package static let notificationDesiredKeys = 3

    /// Users of a public database who no longer have a subscription and are remembered, so that events which a restart
    /// loses reach them as an order to fetch. Beyond the limit the older half is forgotten, and every user who was away
    /// for longer gets that order.
    package static let formerSubscribersPerDatabase = 20_000

    /// Records that are deleted with the zones of one request and reported to query subscriptions one by one; if there
    /// are more, subscribers are told to fetch. It is more than devices' backlogs hold.
    package static let recordsToldPerZoneDeletion = 4_096

    /// Bytes of the texts of all of a user's subscriptions in a database: a commit may fire all of them, and each event
    /// carries its subscription's texts.
    package static let subscriptionTextBytesPerUser = 256 * 1024

    /// Bytes of the predicates of all of a user's subscriptions in a database: each keeps its tree in memory, which is
    /// about ten times as large. It allows 1,000 subscriptions of 1 KiB each.
    package static let subscriptionPredicateBytesPerUser = 1024 * 1024

    /// Bytes of texts and predicates of all subscriptions of a public database.
    package static let subscriptionBytesPerDatabase = 64 * 1024 * 1024

    /// Bytes of a subscription, encoded, without its predicate: its texts are shown to a person.
    package static let subscriptionBytes = 16 * 1024

    /// What matching one commit against query subscriptions may cost, in units of some 15 nanoseconds (comparisons,
    /// elements of lists, fields, candidates): six milliseconds of the loop. Beyond it users are told to fetch.
    package static let matchingCostPerCommit = 400_000

    /// The same for the subscriptions of one user of a public database: a quarter, so that one user's predicates
    /// neither make others' saves slow nor keep others' subscriptions from being matched.
    package static let matchingCostPerUserAndCommit = 100_000

    /// Events of query subscriptions that one commit makes. Beyond it users are told to fetch.
    package static let queryEventsPerCommit = 10_000

    /// The same for one user: as many as a device's backlog holds. Beyond it the oldest would be dropped, and the user
    /// told to fetch all the same.
    package static let queryEventsPerUserAndCommit = 1_024

    /// Bytes of those events' subscriptions, which each event carries: as many as a backlog holds.
    package static let queryEventBytesPerUserAndCommit = 1024 * 1024

    /// Characters of a text in a notification (Documentation/CloudKit.md, Subscriptions): the rest is cut.
    package static let notificationTextCharacters = 100

    /// Bytes of such a text: a character may have any number of them.
    package static let notificationTextBytes = 1_024

    /// Matches in a page of a query when the client names no limit (Documentation/CloudKit.md, Queries).
    package static let matchesPerPage = 100

    /// Matches in a page of a query, whatever the client asks for: each is kept beside the others until the last is
    /// found.
    package static let matchesPerPageMax = 400

    /// Levels of a predicate's tree: functions on trees recurse, and nobody writes deeper ones by hand.
    package static let predicateDepth = 64

    /// Comparisons of a predicate: each record that is looked at costs all of them.
    package static let predicateTerms = 1_000

    /// Nodes of a predicate's tree, its ANDs, ORs and NOTs included: more than one of those for each term is of no use.
    package static let predicateNodes = 4_000

    /// Values in a predicate, those of its lists together.
    package static let predicateValues = 10_000

    /// Bytes of a predicate, encoded: a subscription keeps it.
    package static let predicateBytes = 256 * 1024

    /// Bytes of all texts that a predicate searches for: they are broken into words in one piece of work, a third of a
    /// microsecond for each byte in the slowest of scripts.
    package static let predicateSearchBytes = 4 * 1024

    /// Keys that a query sorts by.
    package static let querySortKeys = 16

    /// Record types of a schema: an app has dozens. Otherwise a client in development could create any number.
    package static let recordTypesPerSchema = 400

    /// Fields of a schema, all types together. With names of 255 bytes its text still fits into a frame.
    package static let fieldsPerSchema = 8_000

    /// Record types that one account's saves teach a development schema: an app has dozens, and four accounts at least
    /// are needed to fill it.
    package static let recordTypesPerTeacher = 100

    /// The same for fields.
    package static let fieldsPerTeacher = 2_000

    /// Fields in all records of one request that the schema does not know yet, counted once for each record that has
    /// them: each is looked up for what the schema is to learn, a microsecond or two.
    package static let fieldsTaughtPerRequest = 32_768

    /// Security roles that a schema defines.
    package static let rolesPerSchema = 100

    /// Grants to roles, over all record types of a schema.
    package static let grantsPerSchema = 2_000

    /// Bytes of a schema's text in a file, and as the server keeps and exports it: more than the limits above let a
    /// schema have, without its comments.
    package static let schemaTextBytes = 4 * 1024 * 1024 - 4 * 1024

    /// Bytes of a schema's text that a running server imports: what a request holds beside its other fields. Larger
    /// schemas are imported while the server is stopped.
    package static let importedSchemaTextBytes = requestBytes - 100

    /// Accounts in roles of one container and environment.
    package static let roleMembersPerSchema = 10_000

    /// Bytes of a query's cursor: more than the longest, which holds ``querySortKeys`` values that a match is sorted
    /// by.
    package static let queryCursorBytes = 32 * 1024

    /// Participants of one share beside its owner, including those who were invited and have not accepted: CloudKit's
    /// own limit (Documentation/CloudKit.md, Limits).
    package static let participantsPerShare = 100

    /// Users who ask to take part in one share and are not answered yet. Whoever asks then is not heard, and not told
    /// so.
    package static let requestersPerShare = 100

    /// Users of one share whose requests are not heard any more.
    package static let blockedUsersPerShare = 1_000

    /// Participants that the shares of one request add, change or remove, and users whom they deny, block or unblock.
    /// Each is looked for among a share's hundred participants.
    package static let shareChangesPerRequest = itemsPerRequest

    /// What a share counts for with those who don't manage it, beside what they are shown: passing over all that may be
    /// hidden in it takes some ten microseconds. The same whatever there is, or limits would tell how many are invited
    /// or blocked.
    package static let shareBytesCharged = 2 * 1024

    /// The same for a save by which somebody leaves it, for which all is read: more than a share may have.
    package static let shareBytesChargedToLeave = 128 * 1024

    /// Bytes of the stored shares that one request reads beside their fields, to change and to show them: some 10
    /// nanoseconds a byte. It is ten times what the largest share takes.
    package static let shareBytesPerRequest = 2 * 1024 * 1024

    /// Participants of the shares that the answer of one request shows: each may need a URL of its own, which takes
    /// some 5 microseconds to seal. It is forty full shares.
    package static let participantsShownPerRequest = 4_000

    /// Bytes of a share's URL: more than the longest that the server makes, with a title of some hundred characters.
    package static let shareURLBytes = 2_048

    /// Bytes of a share's picture, which is in the share and is sent with its metadata to whoever has the URL.
    package static let shareThumbnailBytes = 100 * 1024

    /// Bytes of a share's title, and of its kind.
    package static let shareTextBytes = 4 * 1024

    /// Shares of one zone: what a new one shares is compared with the roots of all others.
    package static let sharesPerZone = 1_000
    /// Zones of others in which a user takes part.
    package static let sharedZonesPerUser = 10_000
    /// Zones of others whose shares a user is accepting at a time.
    package static let askedZonesPerUser = 64
    /// Subscriptions to one user's shared database: all of them fire together.
    package static let sharedSubscriptionsPerUser = 64
    /// Zones of others that went and that the shared database's feed still reports.
    package static let endedSharedZonesPerUser = 1_000

    /// Bytes of a signed statement: more than the largest, which has 64 devices.
    package static let statementBytes = 48 * 1024

    /// Statements of an account in a container and environment: one is made whenever a device comes or goes. Devices
    /// read four times as many (Documentation/EncryptionFormats.md, section 8).
    package static let statementsPerAccount = 1_024

    /// Bytes of all of these. One of five devices has some two kilobytes.
    package static let statementBytesPerAccount = 4 * 1024 * 1024

    /// How often an account may begin anew with a first statement: hashes of those that were replaced are kept, so that
    /// none comes back.
    package static let statementResetsPerAccount = 1_024

    /// Zones with keys that one reset deletes: whoever has more deletes some before.
    package static let zonesPerReset = itemsPerRequest

    /// Rings of a private database: of its zones, and of shared trees in them.
    package static let ringsPerDatabase = 10_000

    /// Bytes of a database's rings up to which no quota refuses an entry that takes keys from somebody.
    package static let ringReserveBytes = 16 * 1024 * 1024

    /// Bytes of a ring's signed entry: more than the largest, which has 128 members, 32 links and 2,000 earlier keys.
    package static let ringEntryBytes = 192 * 1024

    /// Bytes of the hash of a ring's entry (Documentation/EncryptionFormats.md, section 10).
    package static let ringEntryHashBytes = 32

    /// Entries of a ring, and bytes of all of these: what devices read (Documentation/EncryptionFormats.md, section
    /// 10).
    package static let entriesPerRing = 16_384
    package static let bytesPerRing = 64 * 1024 * 1024
    /// Keys that a ring can have one after the other: each entry has one.
    package static let keysPerRing = UInt32(entriesPerRing)

    /// Bytes of the id of a ring's invitation, and of the proof that somebody had its link
    /// (Documentation/EncryptionFormats.md, section 11).
    package static let ringInvitationIDBytes = 16
    package static let ringProofBytes = 64

    /// Statements that one request brings beside a zone's rings: each has signatures to check, of some 50 microseconds.
    /// Whoever has more sends the first ones before.
    package static let ringStatementsPerRequest = 32

    /// Statements of one user beside a zone's rings, and bytes of all of these: they are in the owner's database, and
    /// the user's own word. An account of five devices has some two kilobytes each time that one comes or goes.
    package static let ringStatementsPerUser = 256
    package static let ringStatementBytesPerUser = 512 * 1024

    /// Chains of statements of one user beside a zone's rings: whoever has lost all devices begins another one, and
    /// entries from before name statements of the former.
    package static let ringChainsPerUser = 4

    /// Users with statements beside a zone's rings, and bytes of all of these. Those whom no entry has named yet have
    /// half of both: a public share must not keep its members from telling new keys.
    package static let ringUsersPerZone = 1_000
    package static let ringStatementBytesPerZone = 32 * 1024 * 1024

    /// Statements of a user whom no entry has named yet, and bytes of all of these, for which there is room as long as
    /// those of all such users have half of the zone's. Whoever has more, as after many devices, needs half of that to
    /// be free: 128 users with no more than this find room beside whatever others bring.
    package static let ringStatementsPerUnnamedUser = 16
    package static let ringStatementBytesPerUnnamedUser = 64 * 1024

    /// Steps of a request that saves encrypted values: a look at a member of a ring that they name, and a member or a
    /// statement that has to be read first, of some 0.8 microseconds each. It is enough for 256 trees of 128 members
    /// that are known, half as many that are not, or one whose members have all statements that they may: more would
    /// hold up the other users of a loop. What a refused request has read is known to the next one.
    package static let ringStepsPerRequest = 256 * 128

    /// Guests of a ring: more than can take part in what it is of.
    package static let ringGuestsPerRing = 256

    /// Records from one to the root of its tree that are looked at: what is encrypted in a record takes the key of its
    /// tree. One whose root is further up is shared with nobody.
    package static let treeDepth = 64
}
