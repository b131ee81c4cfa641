import {useEffect, useRef, useState} from 'preact/hooks'
import {html} from '../html.ts'
import {t} from '../text/shell.ts'
import {TextField} from './field.ts'

type TypedFieldProps = {
  label: string
  value: string
  placeholder?: string
  inputmode?: string
  isNumber?: boolean
  onTyped: (text: string) => void
}

const typedMs = 400

/** An input that calls `onTyped` after a pause in typing. With `isNumber`, it accepts only whole numbers from 1, or nothing. */
export const TypedField = ({value, onTyped, isNumber = false, ...rest}: TypedFieldProps) => {
  const [text, setText] = useState(value)
  const typed = useRef(value)
  useEffect(() => {
    // The parent returns the typed value trimmed, and maybe late. The field then keeps the text that the user sees.
    if (value !== typed.current) setText(value)
    typed.current = value
  }, [value])
  const isWrong = isNumber && text !== '' && !/^[1-9]\d{0,9}$/.test(text.trim())
  useEffect(() => {
    if (text.trim() === value || isWrong) return
    const timer = setTimeout(() => {
      typed.current = text.trim()
      onTyped(typed.current)
    }, typedMs)
    return () => clearTimeout(timer)
  }, [text])
  return html`<${TextField} ...${rest} value=${text} onInput=${setText} error=${isWrong && t.enterAWholeNumberFrom1} />`
}
