import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {Button} from '../ui/button.ts'
import {Select, TextField} from '../ui/field.ts'
import {choicesOf, chosenOf} from './fields.ts'
import {issuesAt, sayIssue, strangeWords} from './flows.ts'
import type {ModeProps} from './mapping-modes.ts'

const strangers = [
  {value: 'reject', label: 'fail the row'},
  {value: 'map', label: 'map it to an option'},
  {value: 'pass', label: 'send it to the CRM unchanged'},
]

/** The options for values that the picklist does not have. */
export const PicklistFields = ({mapping, field, sample, seen, issues, change}: ModeProps) => {
  const mode = mapping.picklist ?? 'reject'
  const map = mapping.map ?? {}
  const at = mapping.source ? sample.columns.indexOf(mapping.source) : -1
  const cells = [...seen, ...(at < 0 ? [] : sample.rows.map(row => row[at] ?? ''))]
  const open = mapping.transform ? [] : strangeWords(cells, field, map)
  const set = (word: string, value: string) => change({map: value ? {...map, [word]: value} : without(map, word)})
  const wrong = issuesAt(issues, 'map')
  return html`
    <${Select} label="Values that are not options" hint=${open.length > 0 && mode === 'reject' ? `In the file, for example: ${open.slice(0, 5).join(', ')}` : null} value=${mode} options=${strangers} onChange=${(value: string) => change({picklist: value as 'reject' | 'map' | 'pass'})} />
    ${
      mode === 'map' &&
      html`
      <fieldset>
        <legend>Map values to options</legend>
        ${[...Object.keys(map), ...open].slice(0, 200).map(
          word =>
            html`<${OneWord} key=${word} word=${word} value=${map[word] ?? ''} field=${field} set=${set} error=${wrong
              .filter(({path}) => path[0] === word)
              .map(sayIssue)
              .join('. ')} />`,
        )}
        <${AddWord} add=${(word: string) => set(word, choicesOf(field)[0]?.value ?? '')} />
      </fieldset>
    `
    }
  `
}

const without = (map: Record<string, string>, word: string) => Object.fromEntries(Object.entries(map).filter(([name]) => name !== word))

type WordProps = {word: string; value: string; field: ModeProps['field']; set: (word: string, value: string) => void; error: string}

const OneWord = ({word, value, field, set, error}: WordProps) => html`
  <${Select} label=${word} error=${error || null} value=${chosenOf(field, value)} options=${[{value: '', label: 'No option: fail the row'}, ...choicesOf(field)]} onChange=${(chosen: string) => set(word, chosen)} />
`

const AddWord = ({add}: {add: (word: string) => void}) => {
  const [word, setWord] = useState('')
  return html`
    <div class="row add-word">
      <${TextField} label="Another value" maxlength="300" value=${word} onInput=${setWord} />
      <${Button}
        disabled=${!word.trim()}
        onClick=${() => {
          add(word.trim())
          setWord('')
        }}
      >
        Add
      <//>
    </div>
  `
}
