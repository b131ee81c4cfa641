import {useEffect, useState} from 'preact/hooks'
import {html} from '../html.ts'
import {type VerifyDraft, VerifySelect} from '../runs/verify-choice.ts'
import {useDoing} from '../state/load.ts'
import {t} from '../text/schedules.ts'
import {Button} from '../ui/button.ts'
import {SaveActions, useDraft} from '../ui/draft.ts'
import {Select, TextField} from '../ui/field.ts'
import {Problem} from '../ui/notice.ts'
import {ZoneField} from '../ui/zone-field.ts'
import {readCron, toCron} from './cron-times.ts'
import {codeOf, FrequencyAdvice} from './frequency-advice.ts'
import type {Schedule} from './schedules.ts'
import {draftOf, type SourceDraft, toSourceRequest} from './source-draft.ts'
import {SourceFields} from './source-fields.ts'
import {isWhole, TimesFields} from './times-fields.ts'

type Connection = {id: string; name: string}
/**
 * `connections`: the options if the template names no connection. `starts`: the initial values of a new schedule. `onDirty` is called with whether
 * the form has unsaved changes. `again`: loads the schedule again.
 */
type FormProps = {
  schedule: Schedule | null
  starts?: {name?: string; cron?: string}
  connections?: Connection[]
  save: (body: object) => Promise<unknown>
  saveForTest?: (body: object) => Promise<unknown>
  again?: () => void
  onDirty?: (isDirty: boolean) => void
}

const drifts = [
  {value: 'stop', label: t.doNotRunAndNotify},
  {value: 'warn', label: t.runIfTheMappingStillWorksAnd},
]

const fieldsOf = (schedule: Schedule | null, {starts = {}, connections = []}: Pick<FormProps, 'starts' | 'connections'>) => ({
  name: schedule?.name ?? starts.name ?? '',
  times: readCron(schedule?.cron ?? starts.cron ?? '0 5 * * *'),
  timezone: schedule?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
  connectorId: schedule ? schedule.connectorId : (connections[0]?.id ?? null),
  declaredRows: schedule?.declaredRows ? String(schedule.declaredRows) : '',
  onDrift: schedule?.onDrift ?? 'stop',
  verify: (schedule?.verify ?? 'inherited') as VerifyDraft,
  source: draftOf(schedule?.source ?? null),
  // A new version makes the form take the saved values. The API returns no credentials, so their change alone would not be seen.
  version: schedule?.version,
})

/** The choices of the field for the connection. The stored schedule names none if its template named one when the schedule was saved. */
const choicesOf = (connections: Connection[], saved: string | null) => [
  ...(saved === null && connections.length > 0 ? [{value: '', label: t.chooseAConnection}] : []),
  ...connections.map(({id, name}) => ({value: id, label: name})),
]

export const ScheduleForm = ({schedule, save, saveForTest, onDirty, again, ...given}: FormProps) => {
  const {connections = []} = given
  // The default times of a new schedule can depend on today's weekday, so they are computed once.
  const [initial] = useState(() => fieldsOf(schedule, given))
  const saved = schedule ? fieldsOf(schedule, given) : initial
  const form = useDraft(saved)
  const {draft, set, isDirty} = form
  const choices = choicesOf(connections, saved.connectorId)
  useEffect(() => onDirty?.(isDirty), [isDirty])
  const kept: readonly string[] = schedule?.source.credentials ?? []
  const doing = useDoing(async (how: typeof save) => {
    const {times, source, verify, connectorId, ...rest} = draft
    await how({
      ...rest,
      ...(connections.length > 0 && {connectorId}),
      version: undefined,
      cron: toCron(times),
      declaredRows: draft.declaredRows === '' ? null : Number(draft.declaredRows),
      ...(verify !== saved.verify && {verify: verify === 'inherited' ? null : verify}),
      source: toSourceRequest(source, schedule?.source),
      ...(schedule && {notify: schedule.notify}),
    })
    form.keepSaved(draft)
  })
  const reload = () => {
    doing.clear()
    again?.()
  }
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const isTest = (event.submitter as HTMLButtonElement | null)?.value === 'test'
    if (isWhole(draft.times)) doing.run(isTest ? saveForTest! : save)
  }
  return html`
    <form class="sheet settings-form" onSubmit=${submit}>
      <${TextField} label=${t.name} required maxlength="200" value=${draft.name} onInput=${(name: string) => set({name})} />
      <${TimesFields} times=${draft.times} set=${(times: typeof draft.times) => set({times})} />
      <${ZoneField} value=${draft.timezone} onChange=${(timezone: string) => set({timezone})} />
      ${choices.length > 1 && html`<${Select} label=${t.connection} required value=${draft.connectorId ?? ''} options=${choices} onChange=${(connectorId: string) => set({connectorId})} />`}
      <${SourceFields} draft=${draft.source} kept=${kept} set=${(change: Partial<SourceDraft>) => set({source: {...draft.source, ...change}})} />
      <${TextField} label=${t.maximumRowsPerRun} hint=${t.leaveEmptyForAllRows} type="number" min="1" value=${draft.declaredRows} onInput=${(declaredRows: string) => set({declaredRows})} />
      <${Select} label=${t.ifTheFileOrTheCrmNo} value=${draft.onDrift} options=${drifts} onChange=${(onDrift: string) => set({onDrift: onDrift as 'stop' | 'warn'})} />
      <${VerifySelect} mode=${draft.verify} canInherit=${true} onChange=${(verify: VerifyDraft) => set({verify})} />
      <${Problem} error=${doing.error} again=${codeOf(doing.error) === 'SCHEDULE_CONFLICT' ? reload : undefined} />
      <${FrequencyAdvice} code=${codeOf(doing.error)} />
      ${
        schedule
          ? html`<${SaveActions} of=${form} isBusy=${doing.isBusy} />`
          : html`
              <div class="actions">
                <${Button} kind="main" type="submit" isBusy=${doing.isBusy}>${t.createSchedule}<//>
                <${Button} type="submit" value="test" disabled=${doing.isBusy}>${t.createTurnedOffAndTest}<//>
              </div>
            `
      }
    </form>
  `
}
