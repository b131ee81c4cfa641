import {plural} from '../ui/format.ts'
import {type Part, translate} from './language.ts'

export const t = translate('sealing', {
  sealedPlan: 'Sealed plan',
  aSealedPlanIsAppliedExactly:
    'A sealed plan is applied exactly as previewed. A row that would now do something else, or whose record was changed since, is skipped.',
  sealPlan: 'Seal this plan',
  sealedBy: (rows: number, person: Part, time: Part, until: Part) =>
    `${plural(rows, 'row')}, sealed by ${person} on ${time}. It can be applied until ${until}.`,
  aDeletedPerson: 'a deleted person',
  digest: 'Digest',
  waitsForApproval: 'It waits for the approval of another admin.',
  anotherAdminApproves: 'Another admin must approve it, because you sealed it.',
  anotherAdminApprovesYourDryRun: 'Another admin must approve it, because you started its dry run.',
  approvedBy: (person: Part, time: Part) => `Approved by ${person} on ${time}.`,
  approvePlan: 'Approve plan',
  planApproved: 'The plan is approved',
  applyPlan: 'Apply plan',
  planChanged: 'The import was changed after this preview, so the plan cannot be applied. Preview all rows again.',
  planExpired: 'The plan has expired. Preview all rows again.',
})
