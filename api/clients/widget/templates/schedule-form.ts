import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {Button} from '../ui/button.ts'
import {Select, TextField} from '../ui/field.ts'
import {Problem} from '../ui/notice.ts'
import {codeOf, FrequencyAdvice} from './frequency-advice.ts'
import type {Schedule} from './schedules.ts'
import {draftOf, type SourceDraft, sourceOf} from './source-draft.ts'
import {SourceFields} from './source-fields.ts'

type FormProps = {schedule: Schedule | null; save: (body: object) => Promise<unknown>}

const drifts = [
  {value: 'stop', label: 'Run nothing, and tell'},
  {value: 'warn', label: 'Run what still fits, and tell'},
]

const fieldsOf = (schedule: Schedule | null) => ({
  name: schedule?.name ?? '',
  cron: schedule?.cron ?? '0 5 * * *',
  timezone: schedule?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
  declaredRows: schedule?.declaredRows ? String(schedule.declaredRows) : '',
  onDrift: schedule?.onDrift ?? 'stop',
})

/** When it fires, what it fetches, and what it does with a file that is not as it was. */
export const ScheduleForm = ({schedule, save}: FormProps) => {
  const [draft, setDraft] = useState(fieldsOf(schedule))
  const [source, setSource] = useState<SourceDraft>(draftOf(schedule?.source ?? null))
  const kept: readonly string[] = schedule?.source.credentials ?? []
  const doing = useDoing(() =>
    save({
      ...draft,
      declaredRows: draft.declaredRows === '' ? null : Number(draft.declaredRows),
      source: sourceOf(source, kept),
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
      <${TextField} label="When" hint="Minute, hour, day of the month, month, day of the week: “0 5 * * 1-5” is at five on workdays" required value=${draft.cron} onInput=${(cron: string) => set({cron})} />
      <${TextField} label="By the clocks of" hint="A time zone of the IANA’s list" list="zones" required value=${draft.timezone} onInput=${(timezone: string) => set({timezone})} />
      <datalist id="zones">${Intl.supportedValuesOf('timeZone').map(zone => html`<option value=${zone}></option>`)}</datalist>
      <${SourceFields} draft=${source} kept=${kept} set=${(change: Partial<SourceDraft>) => setSource({...source, ...change})} />
      <${TextField} label="At most so many rows a run" hint="Empty: as many as the file has" type="number" min="1" value=${draft.declaredRows} onInput=${(declaredRows: string) => set({declaredRows})} />
      <${Select} label="Where the file or the CRM is not as the template has it" value=${draft.onDrift} options=${drifts} onChange=${(onDrift: string) => set({onDrift: onDrift as 'stop' | 'warn'})} />
      <${Problem} error=${doing.error} />
      <${FrequencyAdvice} code=${codeOf(doing.error)} />
      <${Button} kind="main" type="submit" isBusy=${doing.isBusy}>${schedule ? 'Save' : 'Make the schedule'}<//>
    </form>
  `
}
