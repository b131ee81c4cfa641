/*
 * The syntax of date formats, the same in mappings, settings and helpers. Some tokens have two spellings: YYYY or yyyy, YY or yy, DD or dd,
 * D or d, A or a (AM, PM), Z or XXX (+02:00). The others are MMMM MMM MM M, HH H (0-23), hh h (1-12), mm m ss s SSS, dddd ddd (name of the
 * day). [text] is literal text. Names are English. YY means 1970 to 2069.
 */
const TOKEN = /YYYY|yyyy|YY|yy|MMMM|MMM|MM|M|dddd|ddd|DD|dd|D|d|HH|H|hh|h|mm|m|SSS|ss|s|A|a|Z|XXX/g
/** Matches the tokens that count in a word with other letters: the `d` of `de` in `D de MMMM` is no token. */
const CERTAIN = /YYYY|YY|MMMM|MMM|MM|M|dddd|ddd|DD|D|HH|H|hh|h|mm|m|SSS|ss|s|A|Z/g
const PART = /\[([^\]]*)\]|[A-Za-z]+/g

const SAME = {yyyy: 'YYYY', yy: 'YY', dd: 'DD', d: 'D', a: 'A', XXX: 'Z'}

/** Splits a format into tokens and literal texts, in order. `word`: the literal is a word outside brackets. */
const readFormat = format => {
  const parts = []
  const say = (text, word = false) => {
    if (text !== '') parts.push({token: null, text, word})
  }
  const split = (word, pattern) => {
    let at = 0
    for (const found of word.matchAll(pattern)) {
      say(word.slice(at, found.index), true)
      parts.push({token: SAME[found[0]] ?? found[0], text: found[0], word: false})
      at = found.index + found[0].length
    }
    say(word.slice(at), true)
  }
  let at = 0
  for (const found of format.matchAll(PART)) {
    say(format.slice(at, found.index))
    if (found[1] !== undefined) say(found[1])
    else split(found[0], found[0].replace(TOKEN, '').replaceAll('T', '') === '' ? TOKEN : CERTAIN)
    at = found.index + found[0].length
  }
  say(format.slice(at))
  return parts
}

export {readFormat}
