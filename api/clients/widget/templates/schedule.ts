import {useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import type {PageProps} from '../pages.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {go, to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t as contracts} from '../text/contracts.ts'
import {currentLocale} from '../text/language.ts'
import {t} from '../text/schedules.ts'
import {Button} from '../ui/button.ts'
import {Confirm} from '../ui/dialog.ts'
import {at, atIn, count} from '../ui/format.ts'
import {CodeDetails, Notice, Problem, say} from '../ui/notice.ts'
import {Page, Shown} from '../ui/page.ts'
import {PagedTable, usePages} from '../ui/paged-table.ts'
import {Pill} from '../ui/pill.ts'
import {describeCron} from './cron-times.ts'
import {codeOf, FrequencyAdvice} from './frequency-advice.ts'
import {HeldFile} from './held-file.ts'
import {isHeld} from './outcome.ts'
import {readConnections} from './schedule-connections.ts'
import {ScheduleForm} from './schedule-form.ts'
import {type Firing, OutcomePill, type Schedule} from './schedules.ts'
import {TestFetch} from './test-fetch.ts'

type LoadedSchedule = Schedule & {templateName: string; connections: {id: string; name: string}[]}
/** `isDirty`: the settings form has unsaved changes. */
type Part = {address: string; schedule: Schedule; isDirty: boolean; again: () => void}

export const SchedulePage = ({params}: PageProps) => {
  const {id, schedule: scheduleId} = params as {id: string; schedule: string}
  const address = inOrg(`/templates/${id}/schedules/${scheduleId}`)
  const [isDirty, setDirty] = useState(false)
  const loaded = useLoad<LoadedSchedule>(
    async signal => {
      const [{schedule}, {template}]: Json[] = await Promise.all([
        client.get(address, {}, signal),
        client.get(inOrg(`/templates/${id}`), {}, signal),
      ])
      // A schedule names its connection only if the template names none.
      return {
        ...schedule,
        templateName: template.name,
        connections: template.connectorId === null ? await readConnections(schedule.connectorId, signal) : [],
      }
    },
    [address],
  )
  const trail = [
    {label: t.templates, href: to('templates')},
    {label: loaded.data?.templateName ?? t.template, href: to('templates', id)},
  ]
  const save = async (body: object) => {
    await client.put(address, body, {'if-match': `"${loaded.data!.version}"`})
    say(t.scheduleSaved)
    loaded.again()
  }
  return html`
    <${Page} title=${loaded.data?.name ?? t.schedule} trail=${trail}>
      <${Shown} of=${loaded}>
        ${({connections, ...schedule}: LoadedSchedule) => html`
          <${Standing} address=${address} schedule=${schedule} isDirty=${isDirty} again=${loaded.again} />
          <${TestFetch} address=${address} />
          <${Firings} key=${schedule.lastFiring?.id} address=${address} schedule=${schedule} />
          ${may('builder') && html`<h2>${t.settings}</h2><${ScheduleForm} schedule=${schedule} connections=${connections} save=${save} again=${loaded.again} onDirty=${setDirty} />`}
        `}
      <//>
    <//>
  `
}

const Standing = ({address, schedule, isDirty, again}: Part) => {
  const {enabled, stopped, next, version, templateId} = schedule
  const [isLeaving, setLeaving] = useState(false)
  const turn = useDoing(async () => {
    await client.patch(address, {enabled: !enabled}, {'if-match': `"${version}"`})
    say(enabled ? t.scheduleTurnedOff : t.scheduleTurnedOn)
    again()
  })
  const fire = useDoing(async () => {
    await client.post(`${address}/run`, {})
    say(t.fetchingTheFile)
    again()
  })
  return html`
    ${stopped && html`<${Notice} kind="bad" title=${t.theScheduleWasTurnedOff}>${stopped.message}<${FrequencyAdvice} code=${stopped.code} /><${CodeDetails} code=${stopped.code} /><//>`}
    <p>
      <${Pill} tone=${enabled ? 'good' : 'neutral'}>${enabled ? t.on : t.off}<//>
      ${
        next.length > 0 &&
        html` ${t.nextTimes(
          describeCron(schedule.cron, currentLocale()),
          next
            .slice(0, 3)
            .map(({at: moment}) => atIn(moment, schedule.timezone))
            .join(' · '),
        )} <span class="quiet">(${schedule.timezone})</span>`
      }
    </p>
    ${
      may('builder') &&
      html`<div class="actions">
        <${Button} isBusy=${turn.isBusy} disabled=${isDirty} onClick=${() => turn.run()}>${enabled ? t.turnOff : t.turnOn}<//>
        <${Button} isBusy=${fire.isBusy} disabled=${isDirty} onClick=${() => fire.run()}>${t.runNow}<//>
        <${Button} kind="danger" onClick=${() => setLeaving(true)}>${t.deleteWord}<//>
      </div>
      ${isDirty && html`<p class="hint">${t.saveOrDiscardTheSettingsFirst}</p>`}`
    }
    <${Problem} error=${turn.error ?? fire.error} />
    <${FrequencyAdvice} code=${codeOf(turn.error ?? fire.error)} />
    ${
      isLeaving &&
      html`
        <${Confirm}
          title=${t.deleteQuestion(schedule.name)}
          action=${t.deleteWord}
          isDangerous
          onClose=${() => setLeaving(false)}
          work=${async () => {
            await client.delete(address, {'if-match': `"${version}"`})
            go(to('templates', templateId))
          }}
        >
          ${t.itsHistoryIsDeletedImportedRecords}
        <//>
      `
    }
  `
}

const Firings = ({address, schedule}: {address: string; schedule: Schedule}) => {
  const firings = usePages<Firing>(`/templates/${schedule.templateId}/schedules/${schedule.id}/firings`, 'firings', {limit: 20})
  // A file can wait for its decision while later firings fill the first page of the history.
  const held = useLoad<Firing[]>(
    async signal => (await client.get<Json>(`${address}/firings`, {limit: 200}, signal)).firings.filter(isHeld),
    [address],
  )
  const again = () => {
    firings.again()
    held.again()
  }
  return html`
    <div class="row"><h2 class="grow">${t.history}</h2><${Button} kind="quiet" onClick=${again}>${t.refresh}<//></div>
    <${Problem} error=${held.error} again=${held.again} />
    ${held.data?.map(firing => html`<${HeldFile} key=${firing.id} address=${address} firing=${firing} again=${again} />`)}
    <${PagedTable} of=${firings} caption=${t.firingsNewestFirst} columns=${columns} empty=${t.thisScheduleHasNotFiredYet} />
  `
}

const columns = [
  {
    head: t.due,
    isName: true,
    cell: ({dueAt, missed}: Firing) =>
      html`${at(dueAt)}${missed > 0 && html`<br /><span class="quiet">${t.missedBefore(count(missed))}</span>`}`,
  },
  {head: t.by, cell: ({by}: Firing) => t.firedBy[by] ?? by},
  {head: t.outcome, cell: (firing: Firing) => html`<${OutcomePill} firing=${firing} />`},
  {head: t.rowsWritten, isNumber: true, cell: ({counts}: Firing) => count(counts?.rowsWritten)},
  {
    head: t.reason,
    cell: ({reason, contract}: Firing) => (contract?.decision ? contracts.decisions[contract.decision] : (reason?.message ?? '')),
  },
  {
    head: '',
    label: t.importLabel,
    cell: ({importId, runId}: Firing) =>
      importId && html`<a href=${to('imports', importId, 'run', runId ? {run: runId} : {})}>${t.open}</a>`,
  },
]
