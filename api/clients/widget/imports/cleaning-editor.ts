import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {Select} from '../ui/field.ts'
import {plural} from '../ui/format.ts'
import {Problem, say} from '../ui/notice.ts'
import {Pill} from '../ui/pill.ts'
import {kindOf, makeStep, moved, newDraft, type StepDraft, sayStep, stepKinds} from './cleaning.ts'
import {StepFields} from './cleaning-fields.ts'
import type {CleaningStep, Source} from './import.ts'
import {useLostFocus} from './lost-focus.ts'

type Props = {importId: string; source: Source; again: () => Promise<void>}

/** What is done to a file's rows before they are mapped, in order. Each change reads the file anew. */
export const CleaningEditor = ({importId, source, again}: Props) => {
  const save = useDoing(async (cleaning: CleaningStep[], said: string) => {
    await client.patch(inOrg(`/imports/${importId}/sources/${source.id}`), {cleaning})
    await again()
    say(said)
  })
  const steps = source.cleaning
  useLostFocus(steps.length)
  const struck = source.struck?.count ?? 0
  return html`
    <section class="sheet" aria-label=${`Cleaning of ${source.label}`}>
      <div class="row">
        <h2 class="grow">Cleaning</h2>
        ${save.isBusy && html`<span class="quiet"><span class="spinner" aria-hidden="true"></span>Reading the file again …</span>`}
        ${struck > 0 && html`<${Pill} tone="warning">${plural(struck, 'row')} struck<//>`}
      </div>
      ${steps.length === 0 && html`<p class="quiet">Cells are taken as they stand in the file. Add steps to trim, replace, split or fill cells, or to strike rows; no step removes a row, and struck rows are not imported.</p>`}
      <ol class="plain steps-list">
        ${steps.map((step, at) => html`<li key=${`${at} ${JSON.stringify(step)}`}><${OneStep} step=${step} at=${at} last=${steps.length - 1} isBusy=${save.isBusy} move=${(by: 1 | -1) => save.run(moved(steps, at, by), 'Step moved')} remove=${() => save.run(steps.toSpliced(at, 1), 'Step removed')} /></li>`)}
      </ol>
      <${Problem} error=${save.error} title="The cleaning stays as it was" />
      <${AddStep} columns=${source.columns.map(({name}) => name)} isBusy=${save.isBusy} add=${(step: CleaningStep) => save.run([...steps, step], 'Step added')} />
    </section>
  `
}

type StepProps = {step: CleaningStep; at: number; last: number; isBusy: boolean; move: (by: 1 | -1) => void; remove: () => void}

const OneStep = ({step, at, last, isBusy, move, remove}: StepProps) => {
  const said = sayStep(step)
  return html`
    <div class="row">
      <span class="quiet number">${at + 1}.</span>
      <span class="grow">${said}</span>
      <${Button} disabled=${at === 0 || isBusy} onClick=${() => move(-1)} label=${`Move up: ${said}`}>↑<//>
      <${Button} disabled=${at === last || isBusy} onClick=${() => move(1)} label=${`Move down: ${said}`}>↓<//>
      <${Button} disabled=${isBusy} onClick=${remove} label=${`Remove: ${said}`}>Remove<//>
    </div>
  `
}

type AddProps = {columns: string[]; isBusy: boolean; add: (step: CleaningStep) => void}

const AddStep = ({columns, isBusy, add}: AddProps) => {
  const [draft, setDraft] = useState<StepDraft | null>(null)
  const [missing, setMissing] = useState<string | null>(null)
  const submit = (event: Event) => {
    event.preventDefault()
    const made = makeStep(draft!)
    if ('missing' in made) return setMissing(made.missing)
    setMissing(null)
    setDraft(null)
    add(made.step)
  }
  const choose = (step: string) => {
    setMissing(null)
    setDraft(step ? newDraft(step) : null)
  }
  const options = [{value: '', label: 'Choose a step …'}, ...stepKinds.map(({step, label, group}) => ({value: step, label, group}))]
  return html`
    <form class="add-step" onSubmit=${submit}>
      <${Select} label="Add a step" value=${draft?.step ?? ''} options=${options} onChange=${choose} />
      ${
        draft &&
        html`
        <${StepFields} draft=${draft} asks=${kindOf(draft.step).asks} columns=${columns} change=${(changes: Partial<StepDraft>) => setDraft({...draft, ...changes})} />
        ${missing && html`<p class="wrong" role="alert">${missing}</p>`}
        <div class="actions">
          <${Button} kind="main" type="submit" isBusy=${isBusy}>Add the step<//>
          <${Button} onClick=${() => choose('')}>Cancel<//>
        </div>
      `
      }
    </form>
  `
}
