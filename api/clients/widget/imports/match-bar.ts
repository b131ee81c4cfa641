import {useEffect, useRef, useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {go, goIfHere, to} from '../state/place.ts'
import {may} from '../state/session.ts'
import {listWords} from '../text/language.ts'
import {t} from '../text/mapping.ts'
import {Button} from '../ui/button.ts'
import {sayName} from '../ui/labels.ts'
import {Notice, Problem} from '../ui/notice.ts'
import {choiceName} from './existing-records.ts'
import type {Module} from './fields.ts'
import {isMatchDecided} from './flows.ts'
import type {Imported} from './import.ts'
import type {Draft} from './mapping-draft.ts'
import {SaveTemplate} from './save-template.ts'

type Props = {found: Imported; draft: Draft; modules: Module[]}

/**
 * The sticky bar of the match step. The main button saves the mapping and opens the review. If a choice about existing records is missing, the
 * button opens that destination and moves the focus to the choice.
 */
export const MatchBar = ({found, draft, modules}: Props) => {
  const [isTemplate, setTemplate] = useState(false)
  const {flows, isChanged, isBehind, save, issues} = draft
  const isSaved = !isChanged && found.state !== 'draft'
  const open = flows.filter(flow => !isMatchDecided(flow, modules))
  const review = useDoing(async () => {
    const goOn = goIfHere()
    if (isSaved || (await save())) goOn(to('imports', found.id, 'review'))
  })
  /** The flow to whose choice the focus moves once the page shows it. */
  const wanted = useRef<string | null>(null)
  useEffect(() => {
    if (wanted.current !== null && focusChoice(wanted.current)) wanted.current = null
  })
  const submit = () => {
    const [first] = open
    if (!first) return review.run()
    if (open.some(({id}) => focusChoice(id))) return
    wanted.current = first.id
    go(to('imports', found.id, 'match', {source: first.sourceId, flow: first.id}))
  }
  return html`
    <div class="save-bar">
      ${isBehind && html`<${Notice} kind="warning" title=${t.theImportHasChanged}>${t.youSeeYourOwnDraftSavingIt}<//>`}
      <p role="status" class="grow">${sayState({issues: issues.length, open: open.map(({module}) => module), isChanged, isSaved})}</p>
      <div class="actions">
        ${isChanged && found.flows.length > 0 && html`<${Button} onClick=${draft.forget}>${isBehind ? t.loadSavedMapping : t.discardChanges}<//>`}
        ${isSaved && may('builder') && html`<${Button} onClick=${() => setTemplate(true)}>${t.saveAsTemplate}<//>`}
        ${may('operator') && html`<${Button} kind="main" isBusy=${review.isBusy} disabled=${found.state === 'running'} onClick=${submit}>${t.review}<//>`}
      </div>
      <${Problem} error=${review.error} title=${t.couldNotSaveTheMapping} />
      ${isTemplate && html`<${SaveTemplate} found=${found} onClose=${() => setTemplate(false)} />`}
    </div>
  `
}

/** Moves the focus to the choice about existing records of a flow. Returns false if the page does not show the choice. */
const focusChoice = (flow: string): boolean => {
  const radio = document.querySelector<HTMLElement>(`.existing-records input[name=${JSON.stringify(choiceName(flow))}]:not(:disabled)`)
  radio?.closest('fieldset')?.scrollIntoView({block: 'center'})
  radio?.focus()
  return radio !== null
}

type BarState = {issues: number; open: string[]; isChanged: boolean; isSaved: boolean}

const sayState = ({issues, open, isChanged, isSaved}: BarState): string => {
  if (issues > 0) return t.notSavedFixProblems(issues)
  if (open.length > 0) return t.chooseForExisting(listWords(open.map(name => sayName(name))))
  return isChanged ? t.unsavedChanges : isSaved ? t.saved : ''
}
