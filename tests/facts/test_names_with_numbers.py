"""Numbers inside names, models and standards, such as iPhone 5C, A4 and 24/7: another number is another thing."""

from __future__ import annotations

import pytest

from fairtrial.text.facts.fact_agreement import compare_facts

_SAME = [
    ("Films are 50p to rent on Mondays.", "On Mondays a film costs £0.50 to rent."),
    ("The iPhone 5C is in stock.", "Yes, we have the iPhone 5c."),
    ("It has a 4K screen.", "The screen is 4K."),
    ("The car has 4WD.", "It has four-wheel drive."),
    ("Print it on A4 paper.", "Please use A4."),
    ("The plan includes 5G.", "5G is included in the plan."),
    ("It needs USB 3.0.", "A USB 3.0 port is needed."),
    ("The game runs on the PS5.", "It runs on PlayStation 5."),
    ("You fly on a Boeing 747.", "The aircraft is a Boeing 747."),
    ("A COVID-19 test is required.", "You need a test for Covid 19."),
    ("Collect it at 7-Eleven.", "You can collect it at any 7-Eleven."),
    ("The film is shown in 3D.", "It is a 3-D film."),
    ("Support is there 24/7.", "Support is available around the clock, 24/7."),
    ("It happened in WW2.", "It happened in the Second World War."),
    ("The G20 meets in November.", "The G20 meeting is in November."),
    ("Export it as an MP3.", "The export is an MP3 file."),
    ("Water is H2O.", "The formula of water is H₂O."),
    ("Your room is 412.", "You are in room 412."),
    ("Flight BA 117 is on time.", "BA117 leaves on time."),
    ("The ISBN is 978-0-13-468599-1.", "ISBN 9780134685991"),
    # The next were written beside the rules.
    ("この本は60pです。", "この本は60ページです。"),
    ("The flight takes 2 hours.", "It is a 2 hour flight."),
    ("Your flight to 12 cities", "12 cities by flight"),
    ("Support runs 24/5.", "Support is there 24 hours a day, 5 days a week."),
    ("It is due 24/5.", "It is due on 24 May."),
    ("The PlayStation 4 costs $299.", "$299 is the price of a PS4."),
    ("Flight UA 200 leaves at 9:30.", "UA200 leaves at 9:30."),
    ("The 4x4 has 4WD.", "The 4x4 has four wheel drive."),
    ("Call 978-555-0123.", "Call 9785550123."),
    ("We are open 24/7 and answer in 2 hours.", "We are open 24 hours a day, and answer in 2 hours."),
    ("Support is open 24/7.", "Support is open 24 hours a day and answers in 10 minutes, within 3 days at most."),
    ("The flight at 10 is full.", "The 10 o'clock flight is full."),
    ("It's the 4K60 monitor", "4K at 60 fps"),
    ("第60p", "60p"),
    ("용량은 60p입니다.", "60p입니다."),
    ("Java 8", "Java 8 is used"),
    ("USB 3.0", "USB 3"),
    # Dates beside a word for a service.
    ("Your service is booked for 24/5.", "Your service is booked for 24 May."),
    ("The help desk visit is on 24/5.", "The help desk visit is on 24 May."),
    ("The shop is open 24/5.", "The shop is open on 24 May."),
    ("Chat with our staff till 24/6.", "Chat with our staff till 24 June."),
    ("Support is available 24/5 and 26/5.", "Support is available on 24 May and 26 May."),
    ("We offer 24/5 customer service.", "Our customer service runs 24 hours a day, 5 days a week."),
    # Numbers behind a name of software, or its homonym.
    ("The fee is PHP 250.50.", "The fee is PHP 250.5."),
    ("Android 70.50%, iOS 29.5%", "Android 70.5%, iOS 29.50%"),
    ("Use a ruby 2.5 mm wide.", "Use a ruby 2.50 mm wide."),
    ("Java 2.50 percent", "Java 2.5%"),
    ("Linux 4.50 million", "Linux 4.5 million"),
    ("Kubernetes 2.50 EUR", "Kubernetes €2.50"),
    ("Firefox 3.50 GB", "Firefox 3.5 GB"),
    ("Android 4.50 stars", "Android 4.5 stars"),
    ("It needs Python 3.10 or newer.", "Python 3.10 is needed."),
    # An English price beside a word for video.
    ("The HDMI cable costs 50p.", "The HDMI cable costs £0.50."),
    ("The 4K Blu-ray is 50p to rent.", "Renting the 4K Blu-ray is £0.50."),
    ("A 4k stamp is 60p each.", "A 4k stamp is £0.60 each."),
    ("The fps counter costs 90p.", "The fps counter costs £0.90."),
    ("Of 1080 sweets, one costs 25p.", "Of 1080 sweets, one costs £0.25."),
    ("HDMIは60pです。", "HDMIは60fpsです。"),
]
_OTHER = [
    ("Films are 50p.", "Films are 60p."),
    ("動画は60pです。", "動画は30pです。"),
    ("お茶は60pです。", "お茶は80pです。"),
    ("The iPhone 5C is in stock.", "The iPhone 6C is in stock."),
    ("The iPhone 5C is in stock.", "The iPhone 5S is in stock."),
    ("It has a 4K screen.", "It has an 8K screen."),
    ("The car has 4WD.", "The car has 2WD."),
    ("Print it on A4 paper.", "Print it on A3 paper."),
    ("用A4纸打印。", "用A3纸打印。"),
    ("The plan includes 5G.", "The plan includes 4G."),
    ("5G를 지원합니다.", "4G를 지원합니다."),
    ("It needs USB 3.0.", "It needs USB 2.0."),
    ("It needs USB 3.", "It needs USB 2."),
    ("The game runs on the PS5.", "The game runs on the PS4."),
    ("PS5で遊べます。", "PS4で遊べます。"),
    ("You fly on a Boeing 747.", "You fly on a Boeing 777."),
    ("The aircraft is an A320.", "The aircraft is an A380."),
    ("A COVID-19 test is required.", "A COVID-21 test is required."),
    ("Collect it at 7-Eleven.", "Collect it at 8-Eleven."),
    ("We sell B2B.", "We sell B2C."),
    ("The film is shown in 3D.", "The film is shown in 2D."),
    ("3D로 상영합니다.", "2D로 상영합니다."),
    ("Support is there 24/7.", "Support is there 24/5."),
    ("It happened in WW2.", "It happened in WW1."),
    ("The G20 meets in November.", "The G7 meets in November."),
    ("G20は11月です。", "G7は11月です。"),
    ("Export it as an MP3.", "Export it as an MP4."),
    ("The formula is H2O.", "The formula is H2O2."),
    ("The formula is CO2.", "The formula is CO."),
    ("It needs Python 3.10.", "It needs Python 3.1."),
    ("It needs PHP version 8.10.", "It needs PHP version 8.1."),
    ("Android 70.50%", "Android 70.6%"),
    ("PHP 250.50", "PHP 250.05"),
    ("It needs Python 3.12.1.", "It needs Python 3.12.2."),
    ("버전 2.4를 설치하세요.", "버전 2.5를 설치하세요."),
    ("Your room is 412.", "Your room is 421."),
    ("お部屋は412号室です。", "お部屋は421号室です。"),
    ("Flight BA117 is on time.", "Flight BA171 is on time."),
    ("Flight BA 117 is on time.", "Flight BA 171 is on time."),
    ("航班CA981准点。", "航班CA918准点。"),
    ("The ISBN is 978-0-13-468599-1.", "The ISBN is 978-0-13-468591-9."),
    ("The ISBN is 9780134685991.", "The ISBN is 9780134685919."),
    ("Take bus 38 to gate B12.", "Take bus 38 to gate B21."),
    # The next were written beside the rules.
    ("The car has 4WD.", "It has two-wheel drive."),
    ("Flight UA 200 leaves.", "UA 300 leaves."),
    ("Flight UA 200 leaves.", "Flight UA 300 leaves."),
    ("PlayStation 5", "PlayStation 4"),
    ("Our hotline is open 24/7.", "Our hotline is open 24/6."),
    ("Your service is booked for 24/5.", "Your service is booked for 25 May."),
    ("상담은 24/7 운영합니다.", "상담은 24/5 운영합니다."),
    ("ISBN 978-0-13-468599-1", "ISBN 978-0-13-468599-2"),
]


def _fails(reference: str, reply: str) -> bool:
    agreement = compare_facts(reference, reply)
    return agreement.contradicted or any(item.state == "missing" for item in agreement.findings)


@pytest.mark.parametrize(("reference", "reply"), _SAME)
def test_one_thing_in_other_words_agrees(reference: str, reply: str) -> None:
    """The number of a name is read in each of its forms."""
    assert not _fails(reference, reply)


@pytest.mark.parametrize(("reference", "reply"), _OTHER)
def test_the_thing_with_another_number_fails(reference: str, reply: str) -> None:
    """Another model, standard, room or flight is no paraphrase."""
    assert _fails(reference, reply)


def test_digits_of_other_scripts_are_digits() -> None:
    """Arabic and Devanagari digits state the same numbers."""
    assert not _fails("Order 3456789 has 12 items.", "Order ٣٤٥٦٧٨٩ has १२ items.")
