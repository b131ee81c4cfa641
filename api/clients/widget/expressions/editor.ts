import {useEffect, useId, useLayoutEffect, useRef, useState} from 'preact/hooks'
import {html, type Markup} from '../html.ts'
import {t} from '../text/shell.ts'
import {Select, TextArea} from '../ui/field.ts'
import {type Completion, completeAt, type KnownWords, type Suggestion} from './complete.ts'
import {examplesFor} from './examples.ts'
import {readFunctions} from './known-functions.ts'

type EditorProps = {
  label: string
  hint?: Markup
  error?: Markup
  value: string
  columns: readonly string[]
  source: string | null
  /** Whether to offer example expressions. They compute values, so conditions offer none. */
  hasExamples: boolean
  onInput: (expression: string) => void
}

/**
 * A text area that completes columns, helpers and libraries while a person types. The arrow keys choose, Enter and Tab insert the chosen
 * suggestion, Escape closes the list, and Ctrl-Space opens it. At first no suggestion is chosen, so Tab and Enter keep their usual effect.
 */
export const ExpressionEditor = ({label, hint, error, value, columns, source, hasExamples, onInput}: EditorProps) => {
  const known = useKnown(columns, source)
  const area = useRef<HTMLTextAreaElement | null>(null)
  const [open, setOpen] = useState<Completion | null>(null)
  const [chosen, setChosen] = useState(-1)
  const id = useId()
  const caretAfter = useCaretAfter(area, value)
  const show = (text: string) => {
    const found = completeAt(text, area.current?.selectionStart ?? text.length, known)
    setOpen(found.suggestions.length ? found : null)
    setChosen(-1)
  }
  const insert = ({text}: Suggestion) => {
    const {from, to} = open!
    onInput(value.slice(0, from) + text + value.slice(to))
    setOpen(null)
    caretAfter.current = from + text.length
  }
  const press = (event: KeyboardEvent) => {
    area.current = event.currentTarget as HTMLTextAreaElement
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key]
    const isAsked = event.key === ' ' && event.ctrlKey
    const isTaken = open && (step || event.key === 'Escape' || (chosen >= 0 && (event.key === 'Enter' || event.key === 'Tab')))
    if (!isTaken && !isAsked) return
    event.preventDefault()
    event.stopPropagation()
    if (isAsked) show(value)
    else if (step)
      setChosen(
        chosen < 0 && step < 0 ? open!.suggestions.length - 1 : (chosen + step + open!.suggestions.length) % open!.suggestions.length,
      )
    else if (event.key === 'Escape') setOpen(null)
    else insert(open!.suggestions[chosen]!)
  }
  const type = (text: string) => {
    onInput(text)
    show(text)
  }
  return html`
    <div class="expression-editor">
      <${TextArea}
        label=${label}
        hint=${hint}
        error=${error}
        value=${value}
        onInput=${type}
        onKeyDown=${press}
        onFocus=${(event: FocusEvent) => (area.current = event.currentTarget as HTMLTextAreaElement)}
        onBlur=${() => setOpen(null)}
        aria-autocomplete="list"
        aria-controls=${open ? id : undefined}
        aria-activedescendant=${open && chosen >= 0 ? `${id}-${chosen}` : undefined}
        maxlength="10000"
      />
      ${open && html`<${Completions} id=${id} suggestions=${open.suggestions} chosen=${chosen} insert=${insert} />`}
      <span class="unseen" role="status">${open ? t.completionsChooseWithTheArrowKeys(open.suggestions.length) : ''}</span>
      ${hasExamples && value.trim() === '' && columns.length > 0 && html`<${Examples} columns=${columns} source=${source} insert=${onInput} />`}
    </div>
  `
}

/**
 * Returns a ref for the caret's position after an insertion. The caret moves there when the text is rendered, before the next key is handled.
 */
const useCaretAfter = (area: {current: HTMLTextAreaElement | null}, value: string) => {
  const caretAfter = useRef<number | null>(null)
  useLayoutEffect(() => {
    if (caretAfter.current === null) return
    area.current?.focus()
    area.current?.setSelectionRange(caretAfter.current, caretAfter.current)
    caretAfter.current = null
  }, [value])
  return caretAfter
}

type CompletionsProps = {id: string; suggestions: Suggestion[]; chosen: number; insert: (suggestion: Suggestion) => void}

/** The list of completions. A mouse press on the list leaves the focus in the editor. */
const Completions = ({id, suggestions, chosen, insert}: CompletionsProps) => html`
  <ul class="completions" id=${id} role="listbox" aria-label=${t.completions}>
    ${suggestions.map((one, index) => html`<li key=${one.text} id=${`${id}-${index}`} role="option" aria-selected=${index === chosen ? 'true' : 'false'} onMouseDown=${(event: Event) => event.preventDefault()} onClick=${() => insert(one)}><code>${one.label}</code> <span class="quiet">${one.detail}</span></li>`)}
  </ul>
`

const useKnown = (columns: readonly string[], source: string | null): KnownWords => {
  const [functions, setFunctions] = useState<Pick<KnownWords, 'helpers' | 'libraries'>>({helpers: [], libraries: []})
  useEffect(() => void readFunctions().then(setFunctions), [])
  return {columns, hasValue: source !== null, ...functions}
}

const Examples = ({columns, source, insert}: {columns: readonly string[]; source: string | null; insert: (expression: string) => void}) => {
  const options = examplesFor(columns, source).map(({label, expression}) => ({value: expression, label}))
  return html`<${Select} label=${t.startFromAnExample} value="" options=${[{value: '', label: t.chooseExample}, ...options]} onChange=${(expression: string) => expression && insert(expression)} />`
}
