import {useId} from 'preact/hooks'
import {html} from '../html.ts'

export type OptionProps = {name: string; isChosen: boolean; choose: () => void}

export const Plain = ({name, isChosen, choose, children}: OptionProps & {children?: string}) => {
  const id = useId()
  return html`<span class="run-radio"><input type="radio" id=${id} name=${name} checked=${isChosen} onChange=${choose} /><label for=${id}>${children}</label></span>`
}
