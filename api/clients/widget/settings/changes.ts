import {html} from '../html.ts'
import {useLoad} from '../state/load.ts'
import {place, setQuery} from '../state/place.ts'
import {client, inOrg} from '../state/session.ts'
import {t as words} from '../text/changes.ts'
import {t} from '../text/settings.ts'
import {Select} from '../ui/field.ts'
import {at} from '../ui/format.ts'
import {PagedTable, usePages} from '../ui/paged-table.ts'
import {AuditDownload} from './audit.ts'
import {SettingsFrame} from './frame.ts'

type Change = {
  id: string
  page: string
  subject: string
  target: string | null
  before: unknown
  after: unknown
  proposedBy: string | null
  userName: string | null
  via: string
  tokenName: string | null
  createdAt: string
}
type Connector = {id: string; name: string}

export const Changes = () => {
  const connector = place.value.query.get('connection') ?? ''
  const connectors = useLoad<Connector[]>(async signal => (await client.get(inOrg('/connectors'), {}, signal)).connectors, [])
  const changes = usePages<Change>('/config/changes', 'changes', {limit: 50, connector: connector || null})
  const options = [{value: '', label: t.none}, ...(connectors.data ?? []).map(({id, name}) => ({value: id, label: name}))]
  return html`
    <${SettingsFrame} title=${t.changes} lead=${t.theHistoryOfAllSettingsWhoChanged}>
      <div class="settings-filter">
        <${Select} label=${t.includeChangesOfAConnection} value=${connector} options=${options} onChange=${(id: string) => setQuery({connection: id})} />
      </div>
      <${AuditDownload} />
      <${PagedTable} of=${changes} caption=${t.changesNewestFirst} columns=${columns} empty=${t.noChangesYet} />
    <//>
  `
}

const columns = [
  {head: t.when, cell: ({createdAt}: Change) => at(createdAt)},
  {
    head: t.who,
    cell: ({userName, via, tokenName}: Change) =>
      html`${userName ?? t.noSignedInUser}<br /><span class="quiet unbroken">${tokenName ? t.token(tokenName) : (t.via[via] ?? via)}</span>`,
  },
  {
    head: t.what,
    isName: true,
    cell: ({subject, target, proposedBy}: Change) =>
      html`<span title=${subject}>${saySubject(subject)}</span>${target && html`<br /><span class="quiet">${target}</span>`}${proposedBy && html`<br /><span class="quiet">${t.proposedBy(proposedBy)}</span>`}`,
  },
  {head: t.before, cell: ({before}: Change) => html`<${Value} value=${before} />`},
  {head: t.after, cell: ({after}: Change) => html`<${Value} value=${after} />`},
]

/** Returns the label of a changed setting. A setting without a label is named by the label of its group and its API name in words. */
const saySubject = (subject: string): string => {
  const known = words.subjects[subject]
  if (known !== undefined) return known
  const [group = '', ...rest] = subject.split('.')
  const name = rest.join('.').replaceAll(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`)
  return words.ofGroup[group] === undefined ? subject : `${words.ofGroup[group]}: ${name}`
}

const shortest = 80

const Value = ({value}: {value: unknown}) => {
  if (value === null || value === undefined) return html`<span class="quiet">${t.noneWord}</span>`
  if (typeof value !== 'object' && String(value).length <= shortest) return html`<code>${String(value)}</code>`
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  if (text.length <= shortest) return html`<code>${text}</code>`
  return html`<details><summary>${t.show}</summary><pre tabindex="0">${text}</pre></details>`
}
