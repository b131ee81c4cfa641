import assert from 'node:assert/strict'
import type {Locator, Page} from 'playwright-core'

/** A page held by somebody who has no pointer: keys alone, and after each it is looked at where the focus is. */
export const keysOf = (page: Page) => {
  const {keyboard} = page

  /** Tab by Tab until `wanted` has the focus, which must be seen at every stop and never be nowhere. */
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
    /** Goes there and presses it. */
    use: async (wanted: Locator, key: 'Enter' | 'Space' = 'Enter') => {
      await tabTo(wanted)
      await keyboard.press(key)
    },
    type: async (wanted: Locator, text: string) => {
      await tabTo(wanted)
      await keyboard.type(text)
    },
    /** By the letters an option begins with, as lists everywhere take them. */
    choose: async (wanted: Locator, option: string) => {
      await tabTo(wanted)
      await keyboard.type(option)
      assert.equal(await wanted.evaluate(select => (select as any).selectedOptions[0].label.slice(0, 200)), option)
    },
    /** Nothing that is done may leave the focus nowhere: the next Tab would begin at the top again. */
    assertSomewhere: async (after: string) => {
      const {name, isNowhere} = await focused(page)
      assert.ok(!isNowhere, `after ${after} the focus is on ${name}`)
    },
  }
}

const hasFocus = (wanted: Locator) => wanted.evaluate(element => element === (globalThis as any).document.activeElement)

/** What has the focus, and whether anything shows it. */
const focused = (page: Page): Promise<{name: string; isSeen: boolean; isNowhere: boolean}> =>
  page.evaluate(() => {
    const {document, getComputedStyle} = globalThis as any
    const element = document.activeElement ?? document.body
    const {outlineStyle, outlineWidth} = getComputedStyle(element)
    const {width, height} = element.getBoundingClientRect()
    const isNowhere = element === document.body
    const name = `${element.tagName.toLowerCase()} “${(element.getAttribute('aria-label') ?? element.textContent).trim().slice(0, 40)}”`
    // From the last control Tab leaves the page for the browser's own, and comes back at its first.
    return {
      name,
      isNowhere,
      isSeen: isNowhere || (outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 1 && width > 0 && height > 0),
    }
  })
