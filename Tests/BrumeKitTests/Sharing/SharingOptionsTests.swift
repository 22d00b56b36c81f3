import BrumeKit
import Foundation
import Testing

@Suite("What an app lets its users choose when they share")
struct SharingOptionsTests {
    @Test("options have CloudKit's values, and allow everything by default but for inviting and asking")
    func values() {
        #expect(CKSharingParticipantAccessOption.anyoneWithLink.rawValue == 1)
        #expect(CKSharingParticipantAccessOption.specifiedRecipientsOnly.rawValue == 2)
        #expect(CKSharingParticipantAccessOption.any == [.anyoneWithLink, .specifiedRecipientsOnly])
        #expect(CKSharingParticipantPermissionOption.readOnly.rawValue == 1)
        #expect(CKSharingParticipantPermissionOption.readWrite.rawValue == 2)
        #expect(CKSharingParticipantPermissionOption.any == [.readOnly, .readWrite])
        let standard = CKAllowedSharingOptions.standard
        #expect(standard.allowedParticipantAccessOptions == .any)
        #expect(standard.allowedParticipantPermissionOptions == .any)
        #expect(!standard.allowsParticipantsToInviteOthers && !standard.allowsAccessRequests)
        standard.allowsAccessRequests = true
        #expect(!CKAllowedSharingOptions.standard.allowsAccessRequests, "a change is of one object alone")
    }

    @Test("options come back from archives and copies, and are equal where they allow the same")
    func archives() throws {
        let options = CKAllowedSharingOptions(
            allowedParticipantPermissionOptions: .readOnly, allowedParticipantAccessOptions: .specifiedRecipientsOnly)
        options.allowsParticipantsToInviteOthers = true
        let data = try NSKeyedArchiver.archivedData(withRootObject: options, requiringSecureCoding: true)
        let read = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKAllowedSharingOptions.self, from: data))
        #expect(read == options && read.hash == options.hash && read !== options)
        #expect(read.allowedParticipantPermissionOptions == .readOnly)
        #expect(read.allowedParticipantAccessOptions == .specifiedRecipientsOnly)
        #expect(read.allowsParticipantsToInviteOthers && !read.allowsAccessRequests)
        let copy = try #require(options.copy() as? CKAllowedSharingOptions)
        #expect(copy == options)
        copy.allowsAccessRequests = true
        #expect(copy != options && options != CKAllowedSharingOptions.standard)
    }

    @Test("an observer of the share sheet takes its blocks, and is never called")
    func observer() {
        let observer = CKSystemSharingUIObserver(container: CKContainer(identifier: "iCloud.sharing"))
        #expect(observer.systemSharingUIDidSaveShareBlock == nil)
        observer.systemSharingUIDidSaveShareBlock = { _, _ in Issue.record("nobody has shared") }
        observer.systemSharingUIDidStopSharingBlock = { _, result in
            if case .success = result { Issue.record("nobody has stopped") }
        }
        #expect(observer.systemSharingUIDidSaveShareBlock != nil && observer.systemSharingUIDidStopSharingBlock != nil)
    }
}
