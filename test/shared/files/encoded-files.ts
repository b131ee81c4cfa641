/** CSV files in various encodings; GNU iconv made the bytes from the text. */
export const encoded: {encoding: string; text: string; bytes: Buffer}[] = (
  [
    [
      'windows-1252',
      'Name,Ort,Notiz\nJörg Müller,Köln,5 € „sofort“\nÄnne Weiß,Düsseldorf,Straße\nLœtitia,Orléans,Š\n',
      'TmFtZSxPcnQsTm90aXoKSvZyZyBN/GxsZXIsS/Zsbiw1IIAghHNvZm9ydJMKxG5uZSBXZWnfLET8c3NlbGRvcmYsU3RyYd9lCkycdGl0aWEsT3Js6WFucyyKCg==',
    ],
    [
      'windows-1250',
      'jméno,město\nŘehoř Dvořák,Plzeň\nŠárka Žižková,České Budějovice\nŁukasz Śliwa,Łódź\nGergő Szűcs,Győr\n',
      'am3pbm8sbexzdG8K2GVob/ggRHZv+OFrLFBsemXyCorhcmthII5pnmtvduEsyGVza+kgQnVk7GpvdmljZQqjdWthc3ogjGxpd2Eso/NknwpHZXJn9SBTevtjcyxHefVyCg==',
    ],
    [
      'windows-1251',
      'имя,город\nИван Петров,Москва\nАнна Сидорова,Санкт-Петербург\nПётр Щукин,Казань\n',
      '6Oz/LOPu8O7kCsji4O0gz+Xy8O7iLMzu8eri4ArA7e3gINHo5O7w7uLgLNHg7eryLc/l8uXw4fPw4wrPuPLwINnz6ujtLMrg5+Dt/Ao=',
    ],
    [
      'iso-8859-2',
      'imię,miasto\nŁukasz Śliwa,Łódź\nMałgorzata Wójcik,Kraków\nStanisław Żak,Wrocław\n',
      'aW1p6ixtaWFzdG8Ko3VrYXN6IKZsaXdhLKPzZLwKTWGzZ29yemF0YSBX82pjaWssS3Jha/N3ClN0YW5pc7NhdyCvYWssV3JvY7Nhdwo=',
    ],
    [
      'iso-8859-15',
      'nom,ville,prix\nHélène Œuvrard,Besançon,5 €\nFrançois,Nîmes,7 €\n',
      'bm9tLHZpbGxlLHByaXgKSOls6G5lILx1dnJhcmQsQmVzYW7nb24sNSCkCkZyYW7nb2lzLE7ubWVzLDcgpAo=',
    ],
    ['windows-1253', 'όνομα,πόλη\nΓιώργος,Αθήνα\nΜαρία,Θεσσαλονίκη\n', '/O3v7OEs8Pzr5wrD6f7x4+/yLMHo3u3hCszh8d/hLMjl8/Ph6+/t3+rnCg=='],
    [
      'windows-1254',
      'ad,şehir\nİbrahim Yılmaz,İstanbul\nAyşe Şahin,Eskişehir\nÇağrı,Muğla\n',
      'YWQs/mVoaXIK3WJyYWhpbSBZ/WxtYXos3XN0YW5idWwKQXn+ZSDeYWhpbixFc2tp/mVoaXIKx2Hwcv0sTXXwbGEK',
    ],
    [
      'koi8-r',
      'имя,город\nИван Петров,Москва\nАнна Сидорова,Санкт-Петербург\n',
      'yc3RLMfP0s/ECunXwc4g8MXU0s/XLO3P08vXwQrhzs7BIPPJxM/Sz9fBLPPBzsvULfDF1MXSwtXSxwo=',
    ],
    [
      'shift_jis',
      '名前,住所,電話\n田中太郎,東京都千代田区,03-1234-5678\n髙橋 能,①丁目 表示 ソ,06-1234-5678\nﾀﾅｶ ﾀﾛｳ,横浜市,045-1\n',
      'lryRTyyPWo+KLJNkmGIKk2OShpG+mFksk4yLnpNzkOeR45Nji+YsMDMtMTIzNC01Njc4Cvv8i7QglFwsh0CSmpbaIJVcjqYgg1wsMDYtMTIzNC01Njc4CsDFtiDA27MsiaGVbI5zLDA0NS0xCg==',
    ],
    [
      'euc-jp',
      '名前,住所\n田中太郎,東京都千代田区\n鈴木花子,大阪府大阪市北区\n',
      'zL7BsCy9u73qCsXEw+bCwM+6LMXstf7F1MDpwuXFxLboCs7rzNqy1rvSLMLnuuXJ3MLnuuW71MvMtugK',
    ],
    [
      'gb18030',
      '姓名,城市,备注\n张伟,北京,重要客户\n王芳,上海,已联系\n李娜,广州市天河区,新客户 镕\n',
      '0NXD+yyzx8rQLLG416IK1cXOsCyxsb6pLNbY0qq/zbunCs31t7wsyc+6oyzS0cGqz7UKwO7EyCy549bdytDM7LrTx/gs0MK/zbunIOlGCg==',
    ],
    [
      'big5',
      '姓名,城市\n陳大文,臺北市\n林小明,高雄市\n許功蓋,新竹縣竹北市\n',
      'qW2mVyyrsKWrCrOvpGqk5Sy7T6VfpasKqkykcKn6LLCqtq+lqwqzXKVcu1wst3Omy7+kpsulX6WrCg==',
    ],
    [
      'euc-kr',
      '이름,도시\n김철수,서울특별시\n이영희,부산광역시\n똠방각하,펲시\n',
      'wMy4pyy1tb3DCrHow7a89iy8rb/vxq+6sL3DCsDMv7XI8Sy6zrvqsaS/qr3DCoxjueawosfPLLyEvcMK',
    ],
  ] as const
).map(([encoding, text, base64]) => ({encoding, text, bytes: Buffer.from(base64, 'base64')}))

/** The text that each entry of `marked` holds in another encoding, with a byte order mark. GNU iconv made the bytes. */
export const markedText = 'name,city\nJörg 😀,東京\nАнна,Łódź\n'
export const marked: [encoding: string, bytes: Buffer][] = (
  [
    ['utf-8', '77u/bmFtZSxjaXR5CkrDtnJnIPCfmIAs5p2x5LqsCtCQ0L3QvdCwLMWBw7NkxboK'],
    ['utf-16le', '//5uAGEAbQBlACwAYwBpAHQAeQAKAEoA9gByAGcAIAA92ADeLABxZ6xOCgAQBD0EPQQwBCwAQQHzAGQAegEKAA=='],
    ['utf-16be', '/v8AbgBhAG0AZQAsAGMAaQB0AHkACgBKAPYAcgBnACDYPd4AACxncU6sAAoEEAQ9BD0EMAAsAUEA8wBkAXoACg=='],
    [
      'utf-32le',
      '//4AAG4AAABhAAAAbQAAAGUAAAAsAAAAYwAAAGkAAAB0AAAAeQAAAAoAAABKAAAA9gAAAHIAAABnAAAAIAAAAAD2AQAsAAAAcWcAAKxOAAAKAAAAEAQAAD0EAAA9BAAAMAQAACwAAABBAQAA8wAAAGQAAAB6AQAACgAAAA==',
    ],
    [
      'utf-32be',
      'AAD+/wAAAG4AAABhAAAAbQAAAGUAAAAsAAAAYwAAAGkAAAB0AAAAeQAAAAoAAABKAAAA9gAAAHIAAABnAAAAIAAB9gAAAAAsAABncQAATqwAAAAKAAAEEAAABD0AAAQ9AAAEMAAAACwAAAFBAAAA8wAAAGQAAAF6AAAACg==',
    ],
    ['gb18030', 'hDGVM25hbWUsY2l0eQpKgTCLMnJnIJQ5/DYslny+qQqnoaffp9+n0SyBMJE5qK5kgTCXMgo='],
  ] as const
).map(([encoding, base64]) => [encoding, Buffer.from(base64, 'base64')])
