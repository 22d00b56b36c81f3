internal import BrumeModel
internal import BrumeProtocol
internal import BrumeService

/// Answers of the service as messages of the protocol.
extension MessageCoder {
    func encode(_ answer: Answer) -> [UInt8] {
        switch answer {
        case .recordsModified(let zones): encodeModifyRecordsResponse(zones)
        case .recordsOutcome(let bytes): bytes
        case .zonesModified(let result): encodeModifyZonesResponse(result)
        case .subscriptionsModified(let result): encodeModifySubscriptionsResponse(result)
        case .records(let zones): encodeFetchRecordsResponse(zones)
        case .queryPage(let page): encodeQueryResponse(page)
        case .queryPlan(let plan): encodeExplainResponse(plan)
        case .zoneChanges(let page): encodeZoneChangesResponse(page)
        case .databaseChanges(let page): encodeDatabaseChangesResponse(page)
        case .zones(let zones): encodeFetchZonesResponse(zones)
        case .allZones(let zones): encodeListZonesResponse(zones)
        case .subscriptions(let subscriptions): encodeFetchSubscriptionsResponse(subscriptions)
        case .allSubscriptions(let subscriptions): encodeListSubscriptionsResponse(subscriptions)
        case .shareMetadata(let metadata): encodeShareMetadataResponse(metadata)
        case .shareAccessRequested: encodeRequestAccessResponse()
        case .shareAccepted(let accepted): encodeAcceptShareResponse(accepted)
        case .statementAppended: encodeAppendStatementResponse()
        case .statements(let page): encodeFetchStatementsResponse(page)
        case .ringEntryAppended: encodeAppendRingEntryResponse()
        case .ring(let page): encodeFetchRingResponse(page)
        case .ringJoined: encodeJoinRingResponse()
        case .ringStatements(let page): encodeFetchRingStatementsResponse(page)
        case .ringRoots(let roots): encodeFindRingRootsResponse(roots)
        case .misplacedRecords(let page): encodeListMisplacedRecordsResponse(page)
        case .enrolmentPosted: encodePostEnrolmentResponse()
        case .enrolments(let enrolments): encodeFetchEnrolmentsResponse(enrolments)
        case .enrolmentEnded: encodeEndEnrolmentResponse()
        case .health(let status): encodeHealthResponse(status)
        case .administration(let answer): encode(answer)
        }
    }

    private func encode(_ answer: AdminAnswer) -> [UInt8] {
        switch answer {
        case .accountAdded(let account, let token): encodeAddAccountResponse(account: account, token: token)
        case .accounts(let accounts, let moreComing): encodeListAccountsResponse(accounts, moreComing: moreComing)
        case .accountRemoved(let summary): encodeRemoveAccountResponse(summary)
        case .containers(let page): encodeListContainersResponse(page)
        case .tokenCreated(let token): encodeCreateTokenResponse(token: token)
        case .tokensRevoked(let count): encodeRevokeTokensResponse(revoked: count)
        case .handles(let account): encodeHandlesResponse(account)
        case .quota(let quota): encodeQuotaResponse(quota)
        case .snapshotsWritten(let summary): encodeSnapshotResponse(summary)
        case .schema(let text, let fingerprint): encodeExportSchemaResponse(text: text, fingerprint: fingerprint)
        case .schemaImported: encodeImportSchemaResponse()
        case .schemaDeployed: encodeDeploySchemaResponse()
        case .schemaReset(let summary): encodeResetSchemaResponse(summary)
        case .roleMemberSet: encodeSetRoleMemberResponse()
        case .roleMembers(let members, let moreComing): encodeListRoleMembersResponse(members, moreComing: moreComing)
        case .figures(let figures): encodeStatsResponse(figures)
        }
    }
}
