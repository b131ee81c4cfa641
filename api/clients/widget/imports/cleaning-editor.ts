import {useEffect, useRef, useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/reading.ts'
import {Button} from '../ui/button.ts'
import {Select} from '../ui/field.ts'
import {Problem, say} from '../ui/notice.ts'
import {Pill} from '../ui/pill.ts'
import {kindOf, makeStep, moved, newDraft, type StepDraft, sayStep, stepKinds} from './cleaning.ts'
import {StepFields} from './cleaning-fields.ts'
import type {CleaningStep, Source} from './import.ts'

type Props = {importId: string; source: Source; again: () => Promise<void>}
type EditedCell = {row: number; column: string; value: string}

/** The maximum number of edits that one request may remove. */
const mostChanged = 1000

/**
 * Edits the cleaning steps, which are applied to the rows in the listed order, before the mapping. After each change, the server reads the file
 * again.
 */
export const CleaningEditor = ({importId, source, again}: Props) => {
  const steps = source.cleaning
  const path = inOrg(`/imports/${importId}/sources/${source.id}`)
  const save = useDoing(async (send: () => Promise<unknown>, said: string) => {
    await send()
    await again()
    say(said)
  })
  // The server keeps edits of cells that the request does not name. The loaded edits may be out of date.
  const set = (cleaning: CleaningStep[], said: string) =>
    save.run(() => client.patch(path, {cleaning: cleaning.filter(({step}) => step !== 'editCells')}), said)
  const removeEdits = async (cells: EditedCell[]) => {
    const nulls = cells.map(({row, column}) => ({row, column, value: null}))
    for (let from = 0; from < nulls.length; from += mostChanged)
      await client.patch(`${path}/cells`, {cells: nulls.slice(from, from + mostChanged)})
  }
  const remove = (at: number) => {
    const {step, cells} = steps[at]!
    if (step === 'editCells') return save.run(() => removeEdits(cells as EditedCell[]), t.stepRemoved)
    return set(steps.toSpliced(at, 1), t.stepRemoved)
  }
  const {list, keep} = useMovedFocus(JSON.stringify(steps))
  const move = async (at: number, by: 1 | -1) => {
    keep(at + by, by)
    await set(moved(steps, at, by), t.stepMoved)
  }
  const struck = source.struck?.count ?? 0
  return html`
    <section class="sheet" aria-label=${t.cleaningOf(source.label)}>
      <div class="row">
        <h2 class="grow">${t.cleaning}</h2>
        ${save.isBusy && html`<span class="quiet"><span class="spinner" aria-hidden="true"></span>${t.readingTheFileAgain}</span>`}
        ${struck > 0 && html`<${Pill} tone="warning">${t.rowsExcluded(struck)}<//>`}
      </div>
      ${steps.length === 0 && html`<p class="quiet">${t.cellsAreImportedAsTheyAreIn}</p>`}
      <ol class="plain steps-list" ref=${list}>
        ${steps.map((step, at) => html`<li key=${at}><${OneStep} step=${step} at=${at} last=${steps.length - 1} move=${(by: 1 | -1) => move(at, by)} remove=${() => remove(at)} /></li>`)}
      </ol>
      <${Problem} error=${save.error} title=${t.couldNotSaveTheCleaning} />
      <${AddStep} columns=${source.columns.map(({name}) => name)} known=${steps.length} isBusy=${save.isBusy} add=${(step: CleaningStep) => set([...steps, step], t.stepAdded)} />
    </section>
  `
}

/**
 * Moves the focus along with a moved step, to the same button. At an end of the list that button is disabled, so the other one gets the focus.
 */
const useMovedFocus = (steps: string) => {
  const list = useRef<HTMLOListElement>(null)
  const wanted = useRef<{at: number; by: 1 | -1} | null>(null)
  useEffect(() => {
    const {at, by} = wanted.current ?? {at: -1, by: 1}
    wanted.current = null
    const [up, down] = list.current?.children[at]?.querySelectorAll('button') ?? []
    const [first, other] = by < 0 ? [up, down] : [down, up]
    ;(first?.disabled ? other : first)?.focus()
  }, [steps])
  return {list, keep: (at: number, by: 1 | -1) => (wanted.current = {at, by})}
}

type StepProps = {step: CleaningStep; at: number; last: number; move: (by: 1 | -1) => void; remove: () => void}

const OneStep = ({step, at, last, move, remove}: StepProps) => {
  const said = sayStep(step)
  return html`
    <div class="row">
      <span class="quiet number">${at + 1}.</span>
      <span class="grow">${said}</span>
      <${Button} disabled=${at === 0} onClick=${() => move(-1)} label=${t.moveUp(said)}>↑<//>
      <${Button} disabled=${at === last} onClick=${() => move(1)} label=${t.moveDown(said)}>↓<//>
      <${Button} onClick=${remove} label=${t.removeNamed(said)}>${t.remove}<//>
    </div>
  `
}

type AddProps = {columns: string[]; known: number; isBusy: boolean; add: (step: CleaningStep) => void}

/** Keeps the typed values until the step is saved. */
const AddStep = ({columns, known, isBusy, add}: AddProps) => {
  const form = useRef<HTMLFormElement>(null)
  const sent = useRef<StepDraft | null>(null)
  const [draft, setDraft] = useState<StepDraft | null>(null)
  const [missing, setMissing] = useState<string | null>(null)
  const submit = (event: Event) => {
    event.preventDefault()
    const made = makeStep(draft!)
    if ('missing' in made) return setMissing(made.missing)
    setMissing(null)
    sent.current = draft
    add(made.step)
  }
  useEffect(() => {
    if (!draft || draft !== sent.current) return
    setDraft(null)
    form.current?.querySelector('select')?.focus()
  }, [known])
  const choose = (step: string) => {
    setMissing(null)
    setDraft(step ? newDraft(step) : null)
  }
  const options = [{value: '', label: t.chooseAStep}, ...stepKinds.map(({step, label, group}) => ({value: step, label, group}))]
  return html`
    <form class="add-step" ref=${form} onSubmit=${submit}>
      <${Select} label=${t.addAStep} value=${draft?.step ?? ''} options=${options} onChange=${choose} />
      ${
        draft &&
        html`
        <${StepFields} draft=${draft} asks=${kindOf(draft.step).asks} columns=${columns} change=${(changes: Partial<StepDraft>) => setDraft({...draft, ...changes})} />
        ${missing && html`<p class="wrong" role="alert">${missing}</p>`}
        <div class="actions">
          <${Button} kind="main" type="submit" isBusy=${isBusy}>${t.addStep}<//>
          <${Button} onClick=${() => choose('')}>${t.cancel}<//>
        </div>
      `
      }
    </form>
  `
}
