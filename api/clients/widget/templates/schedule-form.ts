import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {Button} from '../ui/button.ts'
import {Select, TextField} from '../ui/field.ts'
import {Problem} from '../ui/notice.ts'
import {codeOf, FrequencyAdvice} from './frequency-advice.ts'
import type {Schedule} from './schedules.ts'
import {draftOf, type SourceDraft, toSourceRequest} from './source-draft.ts'
import {SourceFields} from './source-fields.ts'

type FormProps = {schedule: Schedule | null; save: (body: object) => Promise<unknown>}

const drifts = [
  {value: 'stop', label: 'Do not run, and notify'},
  {value: 'warn', label: 'Run the parts that still fit, and notify'},
]

const fieldsOf = (schedule: Schedule | null) => ({
  name: schedule?.name ?? '',
  cron: schedule?.cron ?? '0 5 * * *',
  timezone: schedule?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
  declaredRows: schedule?.declaredRows ? String(schedule.declaredRows) : '',
  onDrift: schedule?.onDrift ?? 'stop',
})

/** The form of a schedule: time, source file, and handling of changes. */
export const ScheduleForm = ({schedule, save}: FormProps) => {
  const [draft, setDraft] = useState(fieldsOf(schedule))
  const [source, setSource] = useState<SourceDraft>(draftOf(schedule?.source ?? null))
  const kept: readonly string[] = schedule?.source.credentials ?? []
  const doing = useDoing(() =>
    save({
      ...draft,
      declaredRows: draft.declaredRows === '' ? null : Number(draft.declaredRows),
      source: toSourceRequest(source, kept),
      ...(schedule && {connectorId: schedule.connectorId, notify: schedule.notify}),
    }),
  )
  const set = (change: Partial<typeof draft>) => setDraft({...draft, ...change})
  const submit = (event: Event) => {
    event.preventDefault()
    doing.run()
  }
  return html`
    <form class="sheet settings-form" onSubmit=${submit}>
      <${TextField} label="Name" required maxlength="200" value=${draft.name} onInput=${(name: string) => set({name})} />
      <${TextField} label="Schedule (cron)" hint="Minute, hour, day of month, month, day of week. For example “0 5 * * 1-5”: 5 a.m. on workdays" required value=${draft.cron} onInput=${(cron: string) => set({cron})} />
      <${TextField} label="Time zone" hint="IANA name, for example Europe/Berlin" list="zones" required value=${draft.timezone} onInput=${(timezone: string) => set({timezone})} />
      <datalist id="zones">${Intl.supportedValuesOf('timeZone').map(zone => html`<option value=${zone}></option>`)}</datalist>
      <${SourceFields} draft=${source} kept=${kept} set=${(change: Partial<SourceDraft>) => setSource({...source, ...change})} />
      <${TextField} label="Maximum rows per run" hint="Leave empty for all rows" type="number" min="1" value=${draft.declaredRows} onInput=${(declaredRows: string) => set({declaredRows})} />
      <${Select} label="If the file or the CRM no longer matches the template" value=${draft.onDrift} options=${drifts} onChange=${(onDrift: string) => set({onDrift: onDrift as 'stop' | 'warn'})} />
      <${Problem} error=${doing.error} />
      <${FrequencyAdvice} code=${codeOf(doing.error)} />
      <${Button} kind="main" type="submit" isBusy=${doing.isBusy}>${schedule ? 'Save' : 'Create schedule'}<//>
    </form>
  `
}
