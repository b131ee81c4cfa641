import {html} from '../html.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/schedules.ts'
import {Button} from '../ui/button.ts'
import {Closed} from '../ui/closed.ts'
import {at} from '../ui/format.ts'
import {Problem, say} from '../ui/notice.ts'
import type {Template} from './template.ts'

type Approval = {
  version: number
  approvalAbove: number | null
  isApproved: boolean
  isAuthor: boolean
  approved: {version: number; at: string; by: {name: string} | null} | null
}

/**
 * Shows whether schedules may run this version of the template for any number of rows. Renders nothing in an org whose runs need no approval.
 */
export const ApprovalSection = ({template: {id, version}}: {template: Template}) => {
  const path = inOrg(`/templates/${id}`)
  const loaded = useLoad(async signal => (await client.get<{approval: Approval}>(`${path}/approval`, {}, signal)).approval, [path, version])
  const approve = useDoing(async () => {
    await client.post(`${path}/approve`, {version})
    say(t.templateApproved)
    await loaded.again()
  })
  const approval = loaded.data
  if (!approval) return html`<${Problem} error=${loaded.error} again=${loaded.again} />`
  const {approvalAbove, isApproved, isAuthor, approved} = approval
  if (approvalAbove === null) return null
  return html`
    <section aria-labelledby="template-approval">
      <h2 id="template-approval">${t.approvalForSchedules}</h2>
      ${isApproved ? html`<p>${t.versionApproved(version, approved?.by?.name ?? t.aDeletedPerson, at(approved!.at))}</p>` : html`<p>${t.schedulesNeedApproval(approvalAbove, version)}</p>`}
      ${!isApproved && isAuthor && html`<p>${t.anotherAdminApprovesTemplate}</p>`}
      <${Problem} error=${approve.error} />
      ${!isApproved && !isAuthor && html`<${Closed} role="admin" change="person" />`}
      ${!isApproved && !isAuthor && may('admin', 'person') && html`<${Button} onClick=${approve.run} isBusy=${approve.isBusy}>${t.approveVersion(version)}<//>`}
    </section>
  `
}
