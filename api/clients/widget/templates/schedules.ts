import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import type {VerifyMode} from '../runs/verify-choice.ts'
import {useLoad} from '../state/load.ts'
import {to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {currentLocale} from '../text/language.ts'
import {t} from '../text/schedules.ts'
import {at} from '../ui/format.ts'
import {Shown} from '../ui/page.ts'
import {Pill} from '../ui/pill.ts'
import {Table} from '../ui/table.ts'
import type {Breach} from './breach-text.ts'
import {describeCron} from './cron-times.ts'
import {describeOutcome, type FiringOutcome} from './outcome.ts'
import type {Template} from './template.ts'

/** The breaches of a held file. `total`: the number of all breaches. `decision`: null until a person decides. */
export type HeldContract = {breaches: Breach[]; total: number; decision: 'accepted' | 'discarded' | null}

export type Firing = FiringOutcome & {
  id: string
  dueAt: string
  by: string
  missed: number
  reason: {code: string; message: string} | null
  contract: HeldContract | null
  importId: string | null
  runId: string | null
}

export type Schedule = {
  id: string
  templateId: string
  connectorId: string | null
  name: string
  cron: string
  timezone: string
  source: Json
  declaredRows: number | null
  onDrift: 'stop' | 'warn'
  verify: VerifyMode | null
  enabled: boolean
  stopped: {code: string; message: string} | null
  next: {at: string; local: string}[]
  version: number
  notify: Json
  lastFiring: Firing | null
}

export const OutcomePill = ({firing}: {firing: Firing}) => {
  const {word, tone} = describeOutcome(firing)
  return html`<${Pill} tone=${tone}>${word}<//>`
}

export const Schedules = ({template}: {template: Template}) => {
  const loaded = useLoad<Schedule[]>(
    async signal => (await client.get<Json>(inOrg(`/templates/${template.id}/schedules`), {limit: 200}, signal)).schedules,
    [template.id],
  )
  return html`
    <div class="row">
      <h2 class="grow">${t.schedules}</h2>
      ${may('builder') && html`<a class="button" href=${to('templates', template.id, 'schedules', 'new')}>${t.newSchedule}</a>`}
    </div>
    <${Shown} of=${loaded}>
      ${(list: Schedule[]) => html`<${Table} caption=${t.schedules} columns=${columns} rows=${list} keyOf=${({id}: Schedule) => id} empty=${t.noSchedulesYetAScheduleFetchesA} />`}
    <//>
  `
}

const columns = [
  {
    head: t.name,
    isName: true,
    cell: ({id, templateId, name}: Schedule) => html`<a href=${to('templates', templateId, 'schedules', id)}>${name}</a>`,
  },
  {
    head: t.repeats,
    cell: ({cron, timezone}: Schedule) => html`${describeCron(cron, currentLocale())}<br /><span class="quiet">${timezone}</span>`,
  },
  {
    head: t.state,
    cell: ({enabled, stopped}: Schedule) =>
      stopped
        ? html`<${Pill} tone="bad">${t.turnedOff(stopped.code)}<//>`
        : enabled
          ? html`<${Pill} tone="good">${t.on}<//>`
          : html`<${Pill}>${t.off}<//>`,
  },
  {head: t.nextHead, cell: ({next}: Schedule) => (next[0] ? at(next[0].at) : '–')},
  {
    head: t.last,
    cell: ({lastFiring}: Schedule) =>
      lastFiring && html`<${OutcomePill} firing=${lastFiring} /><br /><span class="quiet">${at(lastFiring.dueAt)}</span>`,
  },
]
