import {plural} from '../../ui/format.ts'
import type {t} from '../sealing.ts'

export const sealing: typeof t = {
  sealedPlan: 'Versiegelter Plan',
  aSealedPlanIsAppliedExactly:
    'Ein versiegelter Plan wird genau wie in der Vorschau angewendet. Eine Zeile, die nun etwas anderes täte oder deren Datensatz seither geändert wurde, wird ausgelassen.',
  sealPlan: 'Diesen Plan versiegeln',
  sealedBy: (rows, person, time, until) =>
    `${plural(rows, 'Zeile', 'Zeilen')}, versiegelt von ${person} am ${time}. Er kann bis ${until} angewendet werden.`,
  aDeletedPerson: 'einer gelöschten Person',
  digest: 'Prüfsumme',
  waitsForApproval: 'Er wartet auf die Freigabe durch einen anderen Administrator.',
  anotherAdminApproves: 'Ein anderer Administrator muss ihn freigeben, weil Sie ihn versiegelt haben.',
  anotherAdminApprovesYourDryRun: 'Ein anderer Administrator muss ihn freigeben, weil Sie seinen Probelauf gestartet haben.',
  approvedBy: (person, time) => `Freigegeben von ${person} am ${time}.`,
  approvePlan: 'Plan freigeben',
  planApproved: 'Der Plan ist freigegeben',
  applyPlan: 'Plan anwenden',
  planChanged:
    'Der Import wurde nach dieser Vorschau geändert, deshalb kann der Plan nicht angewendet werden. Erstellen Sie die Vorschau neu.',
  planExpired: 'Der Plan ist abgelaufen. Erstellen Sie die Vorschau neu.',
}
