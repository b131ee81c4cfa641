import test from 'ava'
import {inPieces, readAll} from './chunks.ts'

const encodings: [encoding: string, hex: string, text: string][] = [
  ['windows-1252', '80 93 e4 9f', '€“äŸ'],
  ['iso-8859-1', 'e4 f6 fc df', 'äöüß'],
  ['iso-8859-2', 'b1 e6 ea b3', 'ąćęł'],
  ['iso-8859-5', 'b1 d5 db eb', 'Белы'],
  ['iso-8859-7', 'c1 e2 e3 fe', 'Αβγώ'],
  ['iso-8859-15', 'a4 bd be a6', '€œŸŠ'],
  ['windows-1250', '8a 9a b9 9c', 'Ššąś'],
  ['windows-1251', 'cf f0 e8 e2', 'Прив'],
  ['windows-1254', 'd0 dd de f0', 'ĞİŞğ'],
  ['macintosh', '8a 9a 9f a7', 'äöüß'],
  ['koi8-r', 'f0 d2 c9 d7', 'Прив'],
  ['ibm866', '8f e0 a8 a2', 'Прив'],
  ['shift_jis', '93 fa 96 7b', '日本'],
  ['euc-kr', 'c7 d1 b1 b9', '한국'],
  ['gb18030', 'd6 d0 ce c4', '中文'],
  ['big5', 'a4 a4 a4 e5', '中文'],
  ['utf-8', 'ef bb bf c3 a4', 'ä'],
]

for (const [encoding, hex, text] of encodings) {
  test(`${encoding} is read when set, at any chunk size`, async t => {
    const bytes = Buffer.concat([
      Buffer.from(encoding === 'utf-8' ? '' : 'a\n'),
      Buffer.from(hex.replaceAll(' ', ''), 'hex'),
      Buffer.from('\nx\n'),
    ])
    for (const size of [1, 2, 5, 64]) {
      const {cells} = await readAll(inPieces(bytes, size), {encoding, headerRow: false})
      t.deepEqual(cells.flat(), encoding === 'utf-8' ? [text, 'x'] : ['a', text, 'x'])
    }
  })
}
