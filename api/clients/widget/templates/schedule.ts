import {useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import type {PageProps} from '../pages.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {go, to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {Confirm} from '../ui/dialog.ts'
import {at, atIn, count} from '../ui/format.ts'
import {Notice, Problem, say} from '../ui/notice.ts'
import {Page, Shown} from '../ui/page.ts'
import {Pill} from '../ui/pill.ts'
import {Table} from '../ui/table.ts'
import {describeCron} from './cron-times.ts'
import {codeOf, FrequencyAdvice} from './frequency-advice.ts'
import {readConnections} from './schedule-connections.ts'
import {ScheduleForm} from './schedule-form.ts'
import {type Firing, OutcomePill, type Schedule} from './schedules.ts'
import {TestFetch} from './test-fetch.ts'

type Part = {address: string; schedule: Schedule; again: () => void}

/** One schedule: its next and past firings, and its form. */
export const SchedulePage = ({params}: PageProps) => {
  const {id, schedule: scheduleId} = params as {id: string; schedule: string}
  const address = inOrg(`/templates/${id}/schedules/${scheduleId}`)
  const loaded = useLoad<Schedule & {connections: {id: string; name: string}[]}>(
    async signal => {
      const {schedule}: Json = await client.get(address, {}, signal)
      // The template names the connection if the schedule names none.
      return {...schedule, connections: await readConnections(schedule.connectorId === null ? 'its own' : null, signal)}
    },
    [address],
  )
  const trail = [
    {label: 'Templates', href: to('templates')},
    {label: 'Template', href: to('templates', id)},
  ]
  const save = async (body: object) => {
    await client.put(address, body, {'if-match': `"${loaded.data!.version}"`})
    say('Schedule saved')
    loaded.again()
  }
  return html`
    <${Page} title=${loaded.data?.name ?? 'Schedule'} trail=${trail}>
      <${Shown} of=${loaded}>
        ${({connections, ...schedule}: Schedule & {connections: {id: string; name: string}[]}) => html`
          <${Standing} address=${address} schedule=${schedule} again=${loaded.again} />
          <${TestFetch} address=${address} />
          <${Firings} address=${address} schedule=${schedule} />
          ${may('builder') && html`<h2>Settings</h2><${ScheduleForm} key=${schedule.version} schedule=${schedule} connections=${connections} save=${save} />`}
        `}
      <//>
    <//>
  `
}

const Standing = ({address, schedule, again}: Part) => {
  const {enabled, stopped, next, version, templateId} = schedule
  const [isLeaving, setLeaving] = useState(false)
  const turn = useDoing(async () => {
    await client.patch(address, {enabled: !enabled}, {'if-match': `"${version}"`})
    say(enabled ? 'Schedule turned off' : 'Schedule turned on')
    again()
  })
  const fire = useDoing(async () => {
    await client.post(`${address}/run`, {})
    say('Fetching the file')
    again()
  })
  return html`
    ${stopped && html`<${Notice} kind="bad" title="The schedule was turned off">${stopped.message} <code>${stopped.code}</code><${FrequencyAdvice} code=${stopped.code} /><//>`}
    <p>
      <${Pill} tone=${enabled ? 'good' : 'neutral'}>${enabled ? 'on' : 'off'}<//>
      ${
        next.length > 0 &&
        html` ${describeCron(schedule.cron, navigator.language)}. Next: ${next
          .slice(0, 3)
          .map(({at: moment}) => atIn(moment, schedule.timezone))
          .join(' · ')} <span class="quiet">(${schedule.timezone})</span>`
      }
    </p>
    ${
      may('builder') &&
      html`<div class="actions">
        <${Button} isBusy=${turn.isBusy} onClick=${() => turn.run()}>${enabled ? 'Turn off' : 'Turn on'}<//>
        <${Button} isBusy=${fire.isBusy} onClick=${() => fire.run()}>Run now<//>
        <${Button} kind="danger" onClick=${() => setLeaving(true)}>Delete<//>
      </div>`
    }
    <${Problem} error=${turn.error ?? fire.error} />
    <${FrequencyAdvice} code=${codeOf(turn.error ?? fire.error)} />
    ${
      isLeaving &&
      html`
        <${Confirm}
          title=${`Delete ${schedule.name}?`}
          action="Delete"
          isDangerous
          onClose=${() => setLeaving(false)}
          work=${async () => {
            await client.delete(address, {'if-match': `"${version}"`})
            go(to('templates', templateId))
          }}
        >
          Its history is deleted. Imported records stay.
        <//>
      `
    }
  `
}

const Firings = ({address, schedule}: {address: string; schedule: Schedule}) => {
  const loaded = useLoad<Firing[]>(
    async signal => (await client.get<Json>(`${address}/firings`, {limit: 20}, signal)).firings,
    [address, schedule.lastFiring?.id],
  )
  return html`
    <div class="row"><h2 class="grow">History</h2><${Button} kind="quiet" onClick=${loaded.again}>Refresh<//></div>
    <${Shown} of=${loaded}>
      ${(list: Firing[]) => html`<${Table} caption="Firings, newest first" columns=${columns} rows=${list} keyOf=${({id}: Firing) => id} empty="This schedule has not fired yet." />`}
    <//>
  `
}

const columns = [
  {
    head: 'Due',
    isName: true,
    cell: ({dueAt, missed}: Firing) =>
      html`${at(dueAt)}${missed > 0 && html`<br /><span class="quiet">${count(missed)} missed before</span>`}`,
  },
  {head: 'By', cell: ({by}: Firing) => by},
  {head: 'Outcome', cell: (firing: Firing) => html`<${OutcomePill} firing=${firing} />`},
  {head: 'Rows written', isNumber: true, cell: ({counts}: Firing) => count(counts?.rowsWritten)},
  {head: 'Reason', cell: ({reason}: Firing) => reason?.message ?? ''},
  {
    head: '',
    label: 'Import',
    cell: ({importId, runId}: Firing) => importId && html`<a href=${to('imports', importId, 'run', runId ? {run: runId} : {})}>Open</a>`,
  },
]
