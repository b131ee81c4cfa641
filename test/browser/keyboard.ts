import assert from 'node:assert/strict'
import type {Locator, Page} from 'playwright-core'
import {until} from '../support/until.ts'

/** Returns functions that control a page by keys alone and check the focus. */
export const keysOf = (page: Page) => {
  const {keyboard} = page

  /** Presses Tab until `wanted` has the focus. Fails if the focus is not visible on an element on the way. */
  const tabTo = async (wanted: Locator, {back = false, most = 90} = {}): Promise<void> => {
    await wanted.waitFor()
    const passed: string[] = []
    for (let tabs = 0; tabs < most; tabs++) {
      if (await hasFocus(wanted)) return
      await keyboard.press(back ? 'Shift+Tab' : 'Tab')
      const {name, isSeen} = await focused(page)
      assert.ok(isSeen, `the focus is to be seen on ${name}, after ${passed.at(-1)}`)
      passed.push(name)
    }
    throw new Error(`${wanted} was not come to by Tab, only: ${passed.join(' → ')}`)
  }

  return {
    tabTo,
    press: (key: string) => keyboard.press(key),
    /** Moves the focus to the element by Tab and presses a key. */
    use: async (wanted: Locator, key: 'Enter' | 'Space' = 'Enter') => {
      await tabTo(wanted)
      await keyboard.press(key)
    },
    type: async (wanted: Locator, text: string) => {
      await tabTo(wanted)
      await keyboard.type(text)
    },
    /** Moves the focus to a select element by Tab, and selects an option by typing its label. */
    choose: async (wanted: Locator, option: string) => {
      await tabTo(wanted)
      await keyboard.type(option)
      assert.equal(await wanted.evaluate(select => (select as any).selectedOptions[0].label.slice(0, 200)), option)
    },
    /**
     * Asserts that an element has the focus after an action. Without a focus, the next Tab would start at the top of the page. If the action removed
     * the focused element, the page moves the focus to the heading after a short wait.
     */
    assertSomewhere: async (after: string) => {
      const {name, isNowhere} = await until(
        () => focused(page),
        seen => !seen.isNowhere,
        2,
      ).catch(() => focused(page))
      assert.ok(!isNowhere, `after ${after} the focus is on ${name}`)
    },
  }
}

const hasFocus = (wanted: Locator) => wanted.evaluate(element => element === (globalThis as any).document.activeElement)

/** Returns the focused element's name, whether its focus is visible, and whether no element has the focus. */
const focused = (page: Page): Promise<{name: string; isSeen: boolean; isNowhere: boolean}> =>
  page.evaluate(() => {
    const {document, getComputedStyle} = globalThis as any
    const element = document.activeElement ?? document.body
    const {outlineStyle, outlineWidth} = getComputedStyle(element)
    const {width, height} = element.getBoundingClientRect()
    const isNowhere = element === document.body
    const name = `${element.tagName.toLowerCase()} “${(element.getAttribute('aria-label') ?? element.textContent).trim().slice(0, 40)}”`
    // After the last control, Tab moves to the browser's own controls, so the body has the focus.
    return {
      name,
      isNowhere,
      isSeen: isNowhere || (outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 1 && width > 0 && height > 0),
    }
  })
