/// The outcome of a run.
package struct SimulationReport: Sendable {
    package var seed: UInt64
    /// What was wrong; nil if every promise was kept.
    package var violation: String?
    /// Why the run could not be completed; nothing is known about its promises then.
    package internal(set) var resourceFailure: String?
    /// A hash of what happened, the same whenever and wherever the seed is run; of several runs, the sum of theirs.
    package var trace: UInt64 = 0
    package var operations = 0
    package var answers = 0
    package var commits = 0
    package var crashes = 0
    package var cutConnections = 0
    /// Commits that a client knew of when a restart was checked.
    package var acknowledgedChecked = 0
    /// Pages of changes that were checked against the commits, change by change.
    package var pagesChecked = 0
    package var oldTokensTried = 0
    package var pushesReceived = 0
    package var fetchHints = 0
    /// Pushes of query subscriptions.
    package var recordPushes = 0
    /// Pages of queries that were checked against the commits, record by record.
    package var queryPages = 0
    /// Queries that were read to their last page.
    package var queriesFinished = 0
    package var repeatedOperations = 0
    package var snapshots = 0
    /// How often the loader loaded one database or several.
    package var loads = 0
    package var damagedLoads = 0
    /// How often the disk gave the loader nothing.
    package var failedLoads = 0
    /// Bits flipped in files, at starts.
    package var flipsInjected = 0
    /// The flipped bits that a start refused, as it has to refuse each that means something.
    package var flipsDetected = 0
    /// The flipped bits in the torn tail, or where they mean nothing: cut, or never read.
    package var flipsHarmless = 0
    package var tokensExpired = 0
    package var assetsUploaded = 0
    package var assetsDownloaded = 0
    /// Downloads that were told that there is no such asset.
    package var assetsMissed = 0
    /// Assets that records named after a start.
    package var assetsChecked = 0
    /// Writes that a full disk refused.
    package var writesRefused = 0
    /// Reads that were answered, and pushes that came, while the disk was full.
    package var answeredWhileFull = 0
    /// Backups that were made whole, while commits went on.
    package var backups = 0
    package var restores = 0
    package var revocations = 0
    /// Acts of operators that a start found noted.
    package var actsChecked = 0
    package var sharesSaved = 0
    /// With success.
    package var linksFollowed = 0
    package var accessRequests = 0
    package var sharesAccepted = 0
    /// Pages of changes of other accounts' zones that were checked.
    package var sharedPages = 0
    /// Commits of users in zones of others.
    package var sharedWrites = 0
    package var sharesLeft = 0
    /// Pages of statements that were checked against the commits.
    package var statementPages = 0
    package var statementsKept = 0
    /// First statements that took the place of others.
    package var statementsReplaced = 0
    /// Entries of rings.
    package var ringEntriesKept = 0
    package var ringEntriesTooLate = 0
    /// Entries of members who take part no more, or only read.
    package var ringEntriesForbidden = 0
    package var ringPages = 0
    /// Joins that were answered with success, and those that were refused as they had to be.
    package var ringsJoined = 0
    package var joinsRefused = 0
    /// Joins that went back to an earlier chain of statements, and those that were refused for their number.
    package var ringSelections = 0
    package var ringSelectionsRefused = 0
    /// Guests who asked again without a proof, and kept the one that they had.
    package var ringProofsKept = 0
    /// Entries of rings that others than their owners made.
    package var ringEntriesOfOthers = 0
    package var ringGuestsTakenIn = 0
    package var ringEntriesThatDropped = 0
    /// Pages of statements beside rings that were checked against the commits.
    package var ringStatementPages = 0
    /// Roots that were told by the ids of their trees, lists of misplaced records, and records in them.
    package var ringRootsFound = 0
    package var misplacedPages = 0
    package var misplacedRecords = 0
    /// Encrypted values and stamps in commits, and those of them that are of a shared tree's key.
    package var encryptedChecked = 0
    package var encryptedInTreesChecked = 0
    /// Fields with encrypted assets in records that commits put.
    package var encryptedAssetHolders = 0
    /// Saves that were refused for their keys.
    package var keysRefused = 0
    /// Those of them where a member of the ring took part no more.
    package var departuresRefused = 0
    /// Those of them that brought the zone's key into a shared tree.
    package var zoneKeysRefused = 0
    /// Messages of enrolments that were kept, enrolments in answers to fetches, and those refused for their number.
    package var enrolmentMessages = 0
    package var enrolmentsShown = 0
    package var enrolmentsLimited = 0
    /// Saves that were refused for what they would take away that is encrypted.
    package var takingRefused = 0
    /// Saves that were refused for their plain assets.
    package var plainAssetsRefused = 0
    /// Fields with plain assets of records that commits put into zones whose assets are encrypted.
    package var plainAssetsKept = 0
    /// First statements that were there before.
    package var statementsHeldBack = 0
    /// Statements that another device's came before.
    package var statementsTooLate = 0
    /// How often all counts were counted again.
    package var audits = 0
    package var events = 0

    /// The figures of several runs together.
    package mutating func add(_ other: SimulationReport) {
        trace &+= other.trace
        operations += other.operations
        answers += other.answers
        commits += other.commits
        crashes += other.crashes
        cutConnections += other.cutConnections
        acknowledgedChecked += other.acknowledgedChecked
        pagesChecked += other.pagesChecked
        oldTokensTried += other.oldTokensTried
        pushesReceived += other.pushesReceived
        fetchHints += other.fetchHints
        recordPushes += other.recordPushes
        queryPages += other.queryPages
        queriesFinished += other.queriesFinished
        repeatedOperations += other.repeatedOperations
        snapshots += other.snapshots
        loads += other.loads
        damagedLoads += other.damagedLoads
        failedLoads += other.failedLoads
        flipsInjected += other.flipsInjected
        flipsDetected += other.flipsDetected
        flipsHarmless += other.flipsHarmless
        tokensExpired += other.tokensExpired
        writesRefused += other.writesRefused
        answeredWhileFull += other.answeredWhileFull
        backups += other.backups
        restores += other.restores
        actsChecked += other.actsChecked
        revocations += other.revocations
        audits += other.audits
        sharesSaved += other.sharesSaved
        linksFollowed += other.linksFollowed
        accessRequests += other.accessRequests
        sharesAccepted += other.sharesAccepted
        sharedPages += other.sharedPages
        sharedWrites += other.sharedWrites
        sharesLeft += other.sharesLeft
        statementPages += other.statementPages
        statementsKept += other.statementsKept
        statementsReplaced += other.statementsReplaced
        statementsHeldBack += other.statementsHeldBack
        ringEntriesKept += other.ringEntriesKept
        ringEntriesTooLate += other.ringEntriesTooLate
        ringEntriesForbidden += other.ringEntriesForbidden
        ringPages += other.ringPages
        ringsJoined += other.ringsJoined
        joinsRefused += other.joinsRefused
        ringSelections += other.ringSelections
        ringSelectionsRefused += other.ringSelectionsRefused
        ringProofsKept += other.ringProofsKept
        ringEntriesOfOthers += other.ringEntriesOfOthers
        ringGuestsTakenIn += other.ringGuestsTakenIn
        ringEntriesThatDropped += other.ringEntriesThatDropped
        ringStatementPages += other.ringStatementPages
        ringRootsFound += other.ringRootsFound
        misplacedPages += other.misplacedPages
        misplacedRecords += other.misplacedRecords
        encryptedChecked += other.encryptedChecked
        encryptedInTreesChecked += other.encryptedInTreesChecked
        departuresRefused += other.departuresRefused
        zoneKeysRefused += other.zoneKeysRefused
        encryptedAssetHolders += other.encryptedAssetHolders
        keysRefused += other.keysRefused
        enrolmentMessages += other.enrolmentMessages
        enrolmentsShown += other.enrolmentsShown
        enrolmentsLimited += other.enrolmentsLimited
        takingRefused += other.takingRefused
        plainAssetsRefused += other.plainAssetsRefused
        plainAssetsKept += other.plainAssetsKept
        statementsTooLate += other.statementsTooLate
        assetsUploaded += other.assetsUploaded
        assetsDownloaded += other.assetsDownloaded
        assetsMissed += other.assetsMissed
        assetsChecked += other.assetsChecked
        events += other.events
    }

    package init(seed: UInt64) {
        self.seed = seed
    }

    package var figures: String {
        "operations \(operations), answers \(answers), commits \(commits), crashes \(crashes), "
            + "connections cut \(cutConnections), acknowledged commits checked after crashes \(acknowledgedChecked), "
            + "pages checked \(pagesChecked), old tokens \(oldTokensTried), pushes \(pushesReceived), "
            + "of query subscriptions \(recordPushes), fetch hints \(fetchHints), pages of queries \(queryPages), of whole queries \(queriesFinished), operations sent again \(repeatedOperations), snapshots \(snapshots), "
            + "loads \(loads), of damaged files \(damagedLoads), of none \(failedLoads), "
            + "flipped bits \(flipsInjected), of them refused \(flipsDetected) and without meaning \(flipsHarmless), "
            + "tokens expired \(tokensExpired), writes refused by a full disk \(writesRefused), "
            + "answers and pushes meanwhile \(answeredWhileFull), backups \(backups), restores \(restores), "
            + "revocations \(revocations), acts checked after crashes \(actsChecked), "
            + "shares saved \(sharesSaved), their URLs followed \(linksFollowed), "
            + "access asked for \(accessRequests), shares accepted \(sharesAccepted), pages of others' zones \(sharedPages), "
            + "writes there \(sharedWrites), shares left \(sharesLeft), assets uploaded \(assetsUploaded), "
            + "downloaded \(assetsDownloaded), missed \(assetsMissed), checked after crashes \(assetsChecked), "
            + "statements kept \(statementsKept), in the place of others \(statementsReplaced), "
            + "there before \(statementsHeldBack), too late \(statementsTooLate), pages of them \(statementPages), "
            + "entries of rings kept \(ringEntriesKept), too late \(ringEntriesTooLate), "
            + "of those who may not write \(ringEntriesForbidden), pages of them \(ringPages), "
            + "rings joined \(ringsJoined), joins refused \(joinsRefused), proofs kept \(ringProofsKept), "
            + "earlier chains taken again \(ringSelections), too often \(ringSelectionsRefused), "
            + "entries that others made \(ringEntriesOfOthers), guests taken in \(ringGuestsTakenIn), "
            + "entries that dropped somebody \(ringEntriesThatDropped), "
            + "pages of statements beside rings \(ringStatementPages), roots of trees found \(ringRootsFound), "
            + "lists of misplaced records \(misplacedPages), records in them \(misplacedRecords), "
            + "values encrypted \(encryptedChecked), in shared trees \(encryptedInTreesChecked), "
            + "fields with encrypted assets \(encryptedAssetHolders), "
            + "refused for their keys \(keysRefused), since somebody departed \(departuresRefused), "
            + "of the zone's key in shared trees \(zoneKeysRefused), for plain assets \(plainAssetsRefused), "
            + "for encrypted fields that would go \(takingRefused), "
            + "plain assets kept beside encrypted ones \(plainAssetsKept), "
            + "messages of enrolments \(enrolmentMessages), enrolments shown \(enrolmentsShown), "
            + "too many \(enrolmentsLimited), "
            + "recounts \(audits), events \(events)"
    }
}
